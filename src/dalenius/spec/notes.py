"""What readers must be told about a plan or a release; a release stores the English sentence.

`note(code)` gives the sentence that is stored. `in_language` finds the code of a stored sentence and says it in the
reader's language; a sentence that is not known here is left as it is.
"""

import re
from collections.abc import Mapping

from dalenius.translation import languages, texts

NOTES: Mapping[str, str] = {
    "repetition": "Repeated releases reveal the scale of the noise by their spread, and with it something about the "
    "largest values in the data; this is not accounted for.",
    "function": "The blocks were judged by a function of the custodian's own; its digest stands in the request.",
    "silent_blocks": "{silent} of {blocks} blocks gave no number (measured, ± {margin}, 95 %). They count as the "
    "middle of the range, and intervals allow any number of the range in their place.",
    "silent_cut_blocks": "{silent} of {blocks} blocks gave no number (measured, ± {margin}, 95 %). They count as the "
    "middle of the two ends at which the others are cut, and intervals allow any number between these ends in their "
    "place.",
    "scale": "The scale of the noise depends on the confidential data and is withheld, so no standard error can be "
    "published.",
    "who_bootstrap": "Protected: a person in the data, who can claim to have any other record that occurs in the "
    "data. Not protected: anyone whose record does not occur in the data, anyone who joins in a later version, groups "
    "of people.",
    "who_individual": "Protected: each single person in the data, against an intruder who does not use the fact that "
    "the noise was fitted to the data. Not protected: groups of people, later versions, and anyone against an "
    "intruder who knows the algorithm and compares what it would have done with other data.",
    "clamp": "Answers are cut to the exact count plus or minus one. A few answers give the exact count away; the "
    "fewer, the smaller epsilon is.",
    "membership": "Who belongs to which cell is taken as public; a person can claim only values that occur in their "
    "own cell.",
    "linkage": "Not protected: who is in the data, and their publicly known attributes. Whoever has those can link "
    "them to what is released; where a few units agree in all of them, they are the ones it is about.",
    "priced": "{unit} = {amount} is the smallest amount of three digits for the accuracy asked for: noise moves the "
    "median cell by at most ± {error} (95 %).",
    "priced_for_cells": "{unit} = {amount} is the smallest amount of three digits for the accuracy asked for: noise "
    "moves the median cell by at most ± {error} (95 %) where cells have {records} records.",
    "extensions": "Made with extensions of other distributions: {names}.",
    "unvetted_extensions": "Made with extensions of other distributions, whose claims of privacy the project did not "
    "examine: {names}.",
    "part": "The table shows a part of {names}. Records with other declared values are counted nowhere, and a total "
    "is the total of what is shown.",
    "zeros_are_facts": "Cells that are declared impossible are taken as zeros. Records that lie in one all the same "
    "disturb the numbers around it, by more than the margins of error say.",
    "squares_too_large": "There is no error of sampling: squares of {of} are too large in its declared steps. A "
    "coarser step or narrower bounds would allow it.",
    "too_fine": "This table is too fine for this budget: counts are readable from {least} on, and of the declared "
    "records a cell has {expected} on average.",
    "coarser": "With the level {level} of {variable}, cells of the average size would be readable.",
    "mean": "A mean is a ratio of two released numbers: nearly unbiased where the count is large.",
    "fixed_weights": "The weights are fixed by the custodian's declaration.",
    "clipped_mean": "Values are cut to bounds that were learned and released first; the mean, and its intervals, are "
    "of the values as they were cut.",
    "clipped_share": "Values are cut to bounds that were learned and released first, and the mean is of the values as "
    "they were cut. Its intervals are for the mean between the declared bounds: they are wider by what the "
    "released number of rows that were cut allows.",
    "regularised": "Weights were drawn towards a common one by a declared share, which makes the noise smaller. The "
    "estimate and its intervals are for these weights: where weights go with the variable, the population has another "
    "mean.",
    "design_where_known": "The error of the design comes from a table of squared weights with noise of its own, as if "
    "records had been drawn one by one with replacement. Where that noise is more than half of what the table "
    "says, an interval is of the noise alone.",
    "design_error": "The error with sampling is that of the survey's design, as if records had been drawn "
    "independently of one another with chances in inverse proportion to their weights; strata make it smaller, "
    "clusters larger.",
    "family": "Parameters are those of the distribution under which values that are cut at the declared bounds have "
    "the measured moments;"
    " if the records do not follow such a distribution, neither the parameters nor their errors mean anything.",
    "learned_bounds": "These are totals of values clipped at the released bounds, and the intervals are for those. "
    "The totals themselves are larger by what was clipped, which is not known.",
    "clipped": "What one person adds to all cells together is scaled down to {clip} in the {norm} norm where it is "
    "more. Numbers and intervals are of what is left; how much was clipped is not known.",
    "chosen_clip": "Of the bounds {clips} the bound {clip} was chosen before anything was read: by the numbers of "
    "persons that the request states it has the smallest predicted error. The smallest error is no guarantee "
    "where the stated numbers are wrong.",
    "learned_clip": "What one person adds to all cells together is scaled down in the {norm} norm to the smallest "
    "listed bound that leaves {q} of the persons whole, by the noisy numbers of persons that are released here. "
    "Numbers and intervals are of what is left.",
    "selected_labels": "The texts were found in the data: one is listed if its number of units plus noise is above "
    "{threshold}, which noise alone never is, and surely from {sure} units on. Texts that are declared are not "
    "counted here, and each unit counts in at most {most} of the others.",
    "selected_median": "A released median is a selected value: its error depends on how dense the data are around it, "
    "which is not published. It is reliable where a cell holds many records.",
    "bounded": "Values outside the declared bounds count as the bounds; estimates and their errors are of those "
    "values.",
    "census": "The data are a census: nobody was sampled, so that there is no error of sampling, and the error stated "
    "is that of the privacy noise alone.",
    "clusters": "The records were drawn in clusters, whose error of sampling is not computed: the error stated is "
    "that of the privacy noise alone.",
    "weights_without_design": "The data set does not say how its records were drawn ([design] in its document), and "
    "with survey weights no error of sampling is stated without that: the error stated is that of the privacy noise "
    "alone.",
    "if_independent": "The error with sampling holds if the records were drawn independently.",
    "if_units_independent": "The error with sampling holds if the units were drawn independently.",
    "rows_of_units": "A unit may have {rows} rows, which are no independent draws: the variance of sampling is "
    "multiplied by that number, which is enough even where all rows of a unit are alike.",
    "noise_alone": "The error of sampling was not asked for; the error stated is that of the privacy noise alone.",
    "blocks": "A block whose estimate lies outside the declared range of the parameter counts as the nearer end, and "
    "one without an estimate as the middle; the error with sampling is that of estimates in blocks.",
    "no_reply": "There is a reply with 99 % probability where at least {distance} records can change before one more "
    "could move the answer"
    " by more than the bound; elsewhere the outcome may be 'no reply', which is charged like any other.",
    "cascade": "Bounds are tried from the smallest on, and the first that passes its test gives the noise; all of "
    "them are paid for once. A bound, or a smaller one, passes with 99 % probability where at least so many "
    "records can change before one more could move the answer by more than it: {distances}. The outcome may be "
    "'no reply', which is charged like any other.",
    "resampled": "Both errors come from noisy totals of resampled files; multiplicities were drawn anew for each and "
    "are not kept.",
    "clustered": "A unit may have {rows} rows: multiplicities are priced as if they were published, and the error of "
    "sampling allows for rows of one unit that are all alike.",
    "bootstrap_wider": "Expect the bootstrap interval to reach ± {bootstrap} (95 %) with sampling in a typical cell; "
    "without a bootstrap the same budget gives ± {moments}, which is recommended.",
    "bootstrap_shorter": "Expect the bootstrap interval to reach ± {bootstrap} (95 %) with sampling in a typical "
    "cell; without a bootstrap the same budget gives ± {moments}, which is wider.",
    "timed": "How long the choice takes depends on the data: a server answers on a tick, and only that hides it; run "
    "by hand, nobody else should see the clock.",
    "refined": "Only groups with a released count of at least {least} are shown in detail; the detail of a group need "
    "not add up to its coarse count, which was measured on its own.",
    "keyed_list": "The noise is made from a secret key, and is the same whenever this list is asked for. The "
    "guarantee is computational: it holds against anybody who cannot tell such noise from random noise, as long as "
    "the key stays secret.",
    "ranges": "Measured for sums over ranges: those that were asked for are off by about ± {error} (95 %), single "
    "cells by up to ± {cells}.",
    "secret_sample": "The numbers are estimates from a secret sample that was drawn for this release with chance "
    "{fraction} for every record; the margins are of sampling and noise together.",
    "biased_table": "The mean of a shown count differs from the exact count for some counts of this perturbation "
    "table; intervals and tests use the table itself.",
    "clamped_table": "Counts above the table's largest are shown as if they were the largest, so that no error is "
    "published and no analysis of these numbers is valid.",
    "delta_of_size": "delta = {delta} is at most 1/{size}, one over the public size.",
    "delta_above_size": "delta = {delta} is above 1/{size}, one over the public size: to publish every record whole "
    "with that probability would keep the same guarantee.",
    "no_negatives": "Negative counts are shown as 0.",
    "small_counts": "Counts below {least} are shown as 0.",
}


def note(code: str, **values: object) -> str:
    """Return the sentence of a code as releases store it."""
    return NOTES[code].format(**values)


def in_language(sentence: str, language: str) -> str | None:
    """Return a stored sentence in another language; None where it is not known in it.

    >>> in_language("Counts below 5 are shown as 0.", "de")
    'Anzahlen unter 5 werden als 0 gezeigt.'
    """
    if language not in languages():
        return None
    for english in NOTES.values():
        match = re.fullmatch(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(english)), sentence)
        if match:
            return texts(english)[language].format(**match.groupdict())
    return None
