"""Ways to measure counts, one file each; the first that a request asks for is taken."""
