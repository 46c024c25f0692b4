"""From a release document to what can be analysed: the one entrance of every function that takes a release."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dalenius.core.law import Additive, Censored, FloatArray, Joint, Kernel, Withheld
from dalenius.core.release import Block, Release, Table
from dalenius.errors import Unsupported
from dalenius.inference import simulation
from dalenius.inference.channel import Grouped, Repeated, Shifted
from dalenius.inference.drawn import drawn_as, refuse_clusters, refuse_several_rows
from dalenius.inference.joint import JointObserved, of_joint
from dalenius.inference.observation import Observed, adjusted_note, find_table, of_block, refusal, reorder
from dalenius.inference.weighted_table import is_weighted, of_weighted

Seen = Observed | JointObserved
Source = Release | Seen | Sequence[Release]


def observe(
    source: Source, *names: str, total: int | None = None, takes_weights: bool = False, of_process: bool = True
) -> Seen:
    """The table over the named axes (the first shown table if none are named), as an analyst may use it.

    `source` is a release, several releases of the same table (independent measurements of the same counts), or
    something already observed. `total` is the exact total where it is public. `takes_weights`: weighted counts are
    served too, with the dispersion that their squared weights say, and so are units with several rows. `of_process`:
    the analysis is about the process behind the records, for which designs are refused whose errors it would
    understate.
    """
    observation = _seen(source, names, total=total, takes_weights=takes_weights)
    return _of_process(observation, takes_dispersion=takes_weights) if of_process else observation


def _of_process(observation: Seen, *, takes_dispersion: bool) -> Seen:
    """The same table for an analysis of independent draws, with a dispersion where units have several rows."""
    refuse_clusters(observation.draws)
    if observation.rows == 1 or (isinstance(observation, JointObserved) and observation.dispersion is not None):
        return observation
    if not takes_dispersion or observation.total is not None:
        refuse_several_rows(observation.rows)
    if isinstance(observation, JointObserved):
        return replace(observation, dispersion=np.full(observation.shape, float(observation.rows)))
    return _dispersed(observation)


def _dispersed(observation: Observed) -> JointObserved:
    """Counts of units with several rows, as values with a covariance: multiples of Poisson counts plus noise."""
    channel = observation.channel
    if not isinstance(channel, Shifted) or not observation.possible.all():
        refuse_several_rows(observation.rows)
    assert isinstance(channel, Shifted)
    noise, size = channel.noise, observation.values.size

    def draw(replicates: int, rng: np.random.Generator) -> FloatArray:
        drawn = simulation.pick(noise.first, noise.pmf, (replicates, size), rng)
        return np.asarray(drawn, dtype=np.float64)

    return JointObserved(
        axes=observation.axes,
        values=observation.values.astype(np.float64),
        covariance=np.diag(np.full(size, float(noise.variance))),
        noise=draw,
        notes=observation.notes,
        dispersion=np.full(observation.shape, float(observation.rows)),
        draws=observation.draws,
        rows=observation.rows,
    )


def _seen(source: Source, names: Sequence[str], *, total: int | None, takes_weights: bool) -> Seen:
    if isinstance(source, Observed | JointObserved):
        return _with_total(reorder(source, names) if isinstance(source, Observed) else source, total)
    if isinstance(source, Release) and takes_weights and is_weighted(source):
        if total is not None:
            raise Unsupported("A public total is one of records; weighted counts have none.", key="total")
        return of_weighted(source, tuple(names))
    return _with_total(_single(source, names) if isinstance(source, Release) else _several(source, names), total)


def _with_total(observation: Seen, total: int | None) -> Seen:
    return observation if total is None else replace(observation, total=total)


def _single(release: Release, names: Sequence[str]) -> Seen:
    withheld = [law for law in (release.law, *(b.law for b in release.blocks)) if isinstance(law, Withheld)]
    if withheld:
        raise refusal(withheld[0])
    table, drawn = find_table(release, names), drawn_as(release)
    if table.measure != "count":
        raise Unsupported(f"This analysis is for counts; the table shows {table.measure!r}.")
    wanted = tuple(names) or tuple(axis.name for axis in table.space.axes)
    note = adjusted_note(release)
    block = _exact_block(release, table, wanted)
    if block is not None:
        observation = reorder(of_block(block, wanted), wanted)
        return replace(observation, notes=note, draws=drawn.draws, rows=drawn.rows)
    if isinstance(release.law, Joint):
        joint = of_joint(release, table, wanted)
        return replace(joint, notes=note + joint.notes, draws=drawn.draws, rows=drawn.rows)
    raise refusal(release.law)


def _exact_block(release: Release, table: Table, names: tuple[str, ...]) -> Block | None:
    """The block whose law alone decides: the only one that has these axes, or the one that shows the table."""
    usable = [
        b
        for b in release.blocks
        if isinstance(b.law, Additive | Censored | Kernel) and set(names) <= {a.name for a in b.space.axes}
    ]
    if isinstance(release.law, Joint):
        # Of overlapping blocks a single one would waste the others, and known zeros condition even a lone block.
        is_alone = len(release.blocks) == 1 and not release.law.parameters.get("zeros")
        return usable[0] if is_alone and usable else None
    same = [b for b in usable if b.name == table.name]
    ranked = same or sorted(usable, key=lambda b: b.space.size)
    return ranked[0] if ranked else None


def check_together(releases: Sequence[object]) -> None:
    """Raise `Unsupported` where releases are not independent, or not of one number of one version of a data set."""
    made = [r for r in releases if isinstance(r, Release)]
    # One release given twice is one measurement: counting it twice would break every error rate.
    named = [r.provenance.ledger_entry for r in made if r.provenance.ledger_entry]
    if len(set(named)) < len(named) or len({id(r) for r in releases}) < len(releases):
        raise Unsupported("The same release was given twice; only independent releases are combined.")
    sources = {(r.provenance.population, r.provenance.dataset, r.provenance.version) for r in made}
    if len(sources) > 1:
        raise Unsupported(
            "The releases are not of the same version of one data set, so their numbers differ by more than noise. "
            "Combine releases of one version.",
            received=sorted(" ".join(source) for source in sources),
        )
    asked = {(about.measure, about.of, about.weight, about.where) for about in (r.about for r in made)}
    if len(asked) > 1:
        raise Unsupported(
            "The releases do not measure the same number. Combine releases with the same `measure`, `of`, `weight` "
            "and `where`."
        )


def check_same_cells(tables: Sequence[Seen]) -> None:
    cells = [[(axis.name, axis.labels) for axis in table.axes] for table in tables]
    if any(other != cells[0] for other in cells[1:]):
        raise Unsupported("The releases show different tables; only releases of the same cells are combined.")


def _several(releases: Sequence[Release], names: Sequence[str]) -> Observed:
    """Independent releases of the same table: each cell was observed several times."""
    check_together(releases)
    parts = [_single(release, names) for release in releases]
    if not parts:
        raise Unsupported("There is no release to analyse.")
    single = [p for p in parts if isinstance(p, Observed)]
    if len(single) < len(parts):
        raise Unsupported("Only releases with a law for each cell can be combined cell by cell.")
    check_same_cells(single)
    if len(single) == 1:
        return single[0]
    if any(isinstance(p.channel, Grouped) for p in single):
        raise Unsupported("Margins around structural zeros are not combined; combine the full tables.")
    return replace(
        single[0],
        values=np.stack([p.values for p in single], axis=-1),
        channel=Repeated(tuple(p.channel for p in single)),
        notes=tuple(dict.fromkeys(n for p in single for n in p.notes)),
    )
