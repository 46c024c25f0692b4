/* Search over all pages: every word must occur; titles count more than texts. PAGES and ROOT come from the page. */
(function () {
  const field = document.getElementById("search"), list = document.getElementById("results");
  function score(page, words) {
    let total = 0;
    for (const word of words) {
      const inTitle = page.title.toLowerCase().includes(word), place = page.text.toLowerCase().indexOf(word);
      if (!inTitle && place < 0) return 0;
      total += inTitle ? 10 : 1;
    }
    return total;
  }
  function excerpt(page, word) {
    const place = Math.max(page.text.toLowerCase().indexOf(word) - 40, 0);
    return (place ? "… " : "") + page.text.slice(place, place + 120) + " …";
  }
  function show() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.replaceChildren();
    if (!words.length) return;
    const found = PAGES.map((page) => [score(page, words), page]).filter(([points]) => points)
      .sort((a, b) => b[0] - a[0] || a[1].title.localeCompare(b[1].title)).slice(0, 15);
    for (const [, page] of found) {
      const item = document.createElement("li"), link = document.createElement("a"), small = document.createElement("small");
      link.href = ROOT + page.address;
      link.textContent = page.title;
      small.textContent = excerpt(page, words[0]);
      item.append(link, document.createElement("br"), small);
      list.append(item);
    }
    if (!found.length) list.textContent = "No page has all of these words.";
  }
  field.addEventListener("input", show);
})();
