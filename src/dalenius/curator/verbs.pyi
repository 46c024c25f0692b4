"""Types of the verbs of a curator, made from the measures by tools/verbs.py."""

from collections.abc import Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any, Literal, TypedDict, Unpack, overload

from dalenius.core.plan import TablePlan
from dalenius.core.release import Release
from dalenius.spec.table import Amount, Axes

def signature_of(measure: str) -> Signature: ...
def shared_parameters() -> dict[str, Parameter]: ...
def document_of(measure: str) -> str: ...

class _Shared(TypedDict, total=False):
    where: Mapping[str, Any] | None
    margins: str | Sequence[Sequence[str]] | None
    weights: Sequence[Amount] | None
    objective: str | None
    expected: Mapping[str, Any] | None
    universe: str | None
    epsilon: Amount | None
    delta: Amount | None
    rho: Amount | None
    error_at_most: Amount | None
    in_table: Sequence[str] | None
    in_cells_of: int | None
    definition: str | None
    group: int | None
    waves: int | None
    mechanism: str | None
    noise: Mapping[str, Any] | None
    strategy: str | None
    show: Mapping[str, Any] | None
    title: str

class _Weighted(_Shared, total=False):
    weight: str | None

class MeasureVerbs:
    @overload
    def best(
        self,
        of: str,
        *,
        by: Axes = ...,
        method: str | None = ...,
        which: Literal["largest", "smallest"] = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Shared],
    ) -> Release: ...
    @overload
    def best(
        self,
        of: str,
        *,
        by: Axes = ...,
        method: str | None = ...,
        which: Literal["largest", "smallest"] = ...,
        plan: Literal[True],
        **keys: Unpack[_Shared],
    ) -> TablePlan: ...
    @overload
    def boxplot(
        self,
        of: str,
        *,
        by: Axes = ...,
        beyond: Amount | None = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Weighted],
    ) -> Release: ...
    @overload
    def boxplot(
        self,
        of: str,
        *,
        by: Axes = ...,
        beyond: Amount | None = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        plan: Literal[True],
        **keys: Unpack[_Weighted],
    ) -> TablePlan: ...
    @overload
    def clipped_count(
        self,
        *,
        by: Axes = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        learn: Amount | None = ...,
        beyond: Amount | None = ...,
        norm: Literal["l1", "l2"] = ...,
        expected_persons: Mapping[str, int] | None = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Shared],
    ) -> Release: ...
    @overload
    def clipped_count(
        self,
        *,
        by: Axes = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        learn: Amount | None = ...,
        beyond: Amount | None = ...,
        norm: Literal["l1", "l2"] = ...,
        expected_persons: Mapping[str, int] | None = ...,
        plan: Literal[True],
        **keys: Unpack[_Shared],
    ) -> TablePlan: ...
    @overload
    def clipped_total(
        self,
        of: str,
        *,
        by: Axes = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        learn: Amount | None = ...,
        beyond: Amount | None = ...,
        norm: Literal["l1", "l2"] = ...,
        expected_persons: Mapping[str, int] | None = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Shared],
    ) -> Release: ...
    @overload
    def clipped_total(
        self,
        of: str,
        *,
        by: Axes = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        learn: Amount | None = ...,
        beyond: Amount | None = ...,
        norm: Literal["l1", "l2"] = ...,
        expected_persons: Mapping[str, int] | None = ...,
        plan: Literal[True],
        **keys: Unpack[_Shared],
    ) -> TablePlan: ...
    @overload
    def correlation(
        self,
        of: str,
        *,
        by: Axes = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        replicates: int | None = ...,
        learn: Amount | None = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        beyond: Amount | None = ...,
        bound_clipped: Literal[True] | None = ...,
        regularise: Amount | None = ...,
        common_weight: Amount | None = ...,
        other: str | None = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Weighted],
    ) -> Release: ...
    @overload
    def correlation(
        self,
        of: str,
        *,
        by: Axes = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        replicates: int | None = ...,
        learn: Amount | None = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        beyond: Amount | None = ...,
        bound_clipped: Literal[True] | None = ...,
        regularise: Amount | None = ...,
        common_weight: Amount | None = ...,
        other: str | None = ...,
        plan: Literal[True],
        **keys: Unpack[_Weighted],
    ) -> TablePlan: ...
    @overload
    def count(
        self,
        *,
        by: Axes = ...,
        clamp: str | None = ...,
        ranges: Mapping[str, Literal["all", "prefixes"] | int | Sequence[Sequence[str]]]
        | Sequence[Mapping[str, Sequence[str]]]
        | None = ...,
        learn: Amount | None = ...,
        refine: Mapping[str, int] | None = ...,
        sample: Amount | None = ...,
        keyed: Literal[True] | None = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Weighted],
    ) -> Release: ...
    @overload
    def count(
        self,
        *,
        by: Axes = ...,
        clamp: str | None = ...,
        ranges: Mapping[str, Literal["all", "prefixes"] | int | Sequence[Sequence[str]]]
        | Sequence[Mapping[str, Sequence[str]]]
        | None = ...,
        learn: Amount | None = ...,
        refine: Mapping[str, int] | None = ...,
        sample: Amount | None = ...,
        keyed: Literal[True] | None = ...,
        plan: Literal[True],
        **keys: Unpack[_Weighted],
    ) -> TablePlan: ...
    @overload
    def covariance(
        self,
        of: str,
        *,
        by: Axes = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        replicates: int | None = ...,
        learn: Amount | None = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        beyond: Amount | None = ...,
        bound_clipped: Literal[True] | None = ...,
        regularise: Amount | None = ...,
        common_weight: Amount | None = ...,
        other: str | None = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Weighted],
    ) -> Release: ...
    @overload
    def covariance(
        self,
        of: str,
        *,
        by: Axes = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        replicates: int | None = ...,
        learn: Amount | None = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        beyond: Amount | None = ...,
        bound_clipped: Literal[True] | None = ...,
        regularise: Amount | None = ...,
        common_weight: Amount | None = ...,
        other: str | None = ...,
        plan: Literal[True],
        **keys: Unpack[_Weighted],
    ) -> TablePlan: ...
    @overload
    def distribution(
        self,
        of: str,
        *,
        by: Axes = ...,
        bins: int | Sequence[Amount] | None = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Weighted],
    ) -> Release: ...
    @overload
    def distribution(
        self,
        of: str,
        *,
        by: Axes = ...,
        bins: int | Sequence[Amount] | None = ...,
        plan: Literal[True],
        **keys: Unpack[_Weighted],
    ) -> TablePlan: ...
    @overload
    def dominance(
        self,
        of: str,
        *,
        by: Axes = ...,
        rule: Mapping[Literal["p", "n", "k"], int] | None = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Shared],
    ) -> Release: ...
    @overload
    def dominance(
        self,
        of: str,
        *,
        by: Axes = ...,
        rule: Mapping[Literal["p", "n", "k"], int] | None = ...,
        plan: Literal[True],
        **keys: Unpack[_Shared],
    ) -> TablePlan: ...
    @overload
    def exponential_family(
        self, of: str, *, by: Axes = ..., model: str | None = ..., plan: Literal[False] = ..., **keys: Unpack[_Shared]
    ) -> Release: ...
    @overload
    def exponential_family(
        self, of: str, *, by: Axes = ..., model: str | None = ..., plan: Literal[True], **keys: Unpack[_Shared]
    ) -> TablePlan: ...
    @overload
    def interquartile(
        self, of: str, *, by: Axes = ..., method: str | None = ..., plan: Literal[False] = ..., **keys: Unpack[_Shared]
    ) -> Release: ...
    @overload
    def interquartile(
        self, of: str, *, by: Axes = ..., method: str | None = ..., plan: Literal[True], **keys: Unpack[_Shared]
    ) -> TablePlan: ...
    @overload
    def labels(
        self, *, by: Axes = ..., most: int = ..., plan: Literal[False] = ..., **keys: Unpack[_Shared]
    ) -> Release: ...
    @overload
    def labels(self, *, by: Axes = ..., most: int = ..., plan: Literal[True], **keys: Unpack[_Shared]) -> TablePlan: ...
    @overload
    def largest_total(
        self, of: str, *, by: Axes = ..., plan: Literal[False] = ..., **keys: Unpack[_Shared]
    ) -> Release: ...
    @overload
    def largest_total(self, of: str, *, by: Axes = ..., plan: Literal[True], **keys: Unpack[_Shared]) -> TablePlan: ...
    @overload
    def maximum(
        self, of: str, *, by: Axes = ..., method: str | None = ..., plan: Literal[False] = ..., **keys: Unpack[_Shared]
    ) -> Release: ...
    @overload
    def maximum(
        self, of: str, *, by: Axes = ..., method: str | None = ..., plan: Literal[True], **keys: Unpack[_Shared]
    ) -> TablePlan: ...
    @overload
    def mean(
        self,
        of: str,
        *,
        by: Axes = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        replicates: int | None = ...,
        learn: Amount | None = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        beyond: Amount | None = ...,
        bound_clipped: Literal[True] | None = ...,
        regularise: Amount | None = ...,
        common_weight: Amount | None = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Weighted],
    ) -> Release: ...
    @overload
    def mean(
        self,
        of: str,
        *,
        by: Axes = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        replicates: int | None = ...,
        learn: Amount | None = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        beyond: Amount | None = ...,
        bound_clipped: Literal[True] | None = ...,
        regularise: Amount | None = ...,
        common_weight: Amount | None = ...,
        plan: Literal[True],
        **keys: Unpack[_Weighted],
    ) -> TablePlan: ...
    @overload
    def median(
        self,
        of: str,
        *,
        by: Axes = ...,
        method: str | None = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Weighted],
    ) -> Release: ...
    @overload
    def median(
        self,
        of: str,
        *,
        by: Axes = ...,
        method: str | None = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        plan: Literal[True],
        **keys: Unpack[_Weighted],
    ) -> TablePlan: ...
    @overload
    def minimum(
        self, of: str, *, by: Axes = ..., method: str | None = ..., plan: Literal[False] = ..., **keys: Unpack[_Shared]
    ) -> Release: ...
    @overload
    def minimum(
        self, of: str, *, by: Axes = ..., method: str | None = ..., plan: Literal[True], **keys: Unpack[_Shared]
    ) -> TablePlan: ...
    @overload
    def mode(
        self, *, by: Axes = ..., method: str | None = ..., plan: Literal[False] = ..., **keys: Unpack[_Shared]
    ) -> Release: ...
    @overload
    def mode(
        self, *, by: Axes = ..., method: str | None = ..., plan: Literal[True], **keys: Unpack[_Shared]
    ) -> TablePlan: ...
    @overload
    def persons(self, *, by: Axes = ..., plan: Literal[False] = ..., **keys: Unpack[_Shared]) -> Release: ...
    @overload
    def persons(self, *, by: Axes = ..., plan: Literal[True], **keys: Unpack[_Shared]) -> TablePlan: ...
    @overload
    def proportion(
        self,
        of: str,
        *,
        by: Axes = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        replicates: int | None = ...,
        learn: Amount | None = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        beyond: Amount | None = ...,
        bound_clipped: Literal[True] | None = ...,
        regularise: Amount | None = ...,
        common_weight: Amount | None = ...,
        per: Amount = ...,
        among: str | Sequence[str] | Mapping[str, Any] | None = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Weighted],
    ) -> Release: ...
    @overload
    def proportion(
        self,
        of: str,
        *,
        by: Axes = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        replicates: int | None = ...,
        learn: Amount | None = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        beyond: Amount | None = ...,
        bound_clipped: Literal[True] | None = ...,
        regularise: Amount | None = ...,
        common_weight: Amount | None = ...,
        per: Amount = ...,
        among: str | Sequence[str] | Mapping[str, Any] | None = ...,
        plan: Literal[True],
        **keys: Unpack[_Weighted],
    ) -> TablePlan: ...
    @overload
    def propose_test_release(
        self,
        of: str,
        *,
        by: Axes = ...,
        q: Amount | Sequence[Amount] | None = ...,
        estimate: Literal["median", "quantile", "interquartile"] = ...,
        bounds: Amount | Sequence[Amount] | None = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Shared],
    ) -> Release: ...
    @overload
    def propose_test_release(
        self,
        of: str,
        *,
        by: Axes = ...,
        q: Amount | Sequence[Amount] | None = ...,
        estimate: Literal["median", "quantile", "interquartile"] = ...,
        bounds: Amount | Sequence[Amount] | None = ...,
        plan: Literal[True],
        **keys: Unpack[_Shared],
    ) -> TablePlan: ...
    @overload
    def quantile(
        self,
        of: str,
        *,
        by: Axes = ...,
        method: str | None = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        q: Amount | Sequence[Amount] | None = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Weighted],
    ) -> Release: ...
    @overload
    def quantile(
        self,
        of: str,
        *,
        by: Axes = ...,
        method: str | None = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        q: Amount | Sequence[Amount] | None = ...,
        plan: Literal[True],
        **keys: Unpack[_Weighted],
    ) -> TablePlan: ...
    @overload
    def quantiles(
        self,
        of: str,
        *,
        by: Axes = ...,
        q: Amount | Sequence[Amount] | None = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Weighted],
    ) -> Release: ...
    @overload
    def quantiles(
        self,
        of: str,
        *,
        by: Axes = ...,
        q: Amount | Sequence[Amount] | None = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        plan: Literal[True],
        **keys: Unpack[_Weighted],
    ) -> TablePlan: ...
    @overload
    def range(
        self, of: str, *, by: Axes = ..., method: str | None = ..., plan: Literal[False] = ..., **keys: Unpack[_Shared]
    ) -> Release: ...
    @overload
    def range(
        self, of: str, *, by: Axes = ..., method: str | None = ..., plan: Literal[True], **keys: Unpack[_Shared]
    ) -> TablePlan: ...
    @overload
    def range_count(
        self,
        of: str,
        *,
        by: Axes = ...,
        among: str | Sequence[str] | Mapping[str, Any] | None = ...,
        clamp: str | None = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Shared],
    ) -> Release: ...
    @overload
    def range_count(
        self,
        of: str,
        *,
        by: Axes = ...,
        among: str | Sequence[str] | Mapping[str, Any] | None = ...,
        clamp: str | None = ...,
        plan: Literal[True],
        **keys: Unpack[_Shared],
    ) -> TablePlan: ...
    @overload
    def ratio(
        self,
        of: str,
        *,
        by: Axes = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        replicates: int | None = ...,
        learn: Amount | None = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        beyond: Amount | None = ...,
        bound_clipped: Literal[True] | None = ...,
        regularise: Amount | None = ...,
        common_weight: Amount | None = ...,
        other: str | None = ...,
        per: Amount = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Weighted],
    ) -> Release: ...
    @overload
    def ratio(
        self,
        of: str,
        *,
        by: Axes = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        replicates: int | None = ...,
        learn: Amount | None = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        beyond: Amount | None = ...,
        bound_clipped: Literal[True] | None = ...,
        regularise: Amount | None = ...,
        common_weight: Amount | None = ...,
        other: str | None = ...,
        per: Amount = ...,
        plan: Literal[True],
        **keys: Unpack[_Weighted],
    ) -> TablePlan: ...
    @overload
    def sample_and_aggregate(
        self,
        of: str,
        *,
        by: Axes = ...,
        model: str | None = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        blocks: int | None = ...,
        aggregate: Literal["mean", "median", "winsorised"] = ...,
        correction: Literal["analytic", "firth", "jackknife", "none"] | None = ...,
        predictors: Sequence[str] = ...,
        function: str | None = ...,
        seconds: Amount | None = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Shared],
    ) -> Release: ...
    @overload
    def sample_and_aggregate(
        self,
        of: str,
        *,
        by: Axes = ...,
        model: str | None = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        blocks: int | None = ...,
        aggregate: Literal["mean", "median", "winsorised"] = ...,
        correction: Literal["analytic", "firth", "jackknife", "none"] | None = ...,
        predictors: Sequence[str] = ...,
        function: str | None = ...,
        seconds: Amount | None = ...,
        plan: Literal[True],
        **keys: Unpack[_Shared],
    ) -> TablePlan: ...
    @overload
    def second_maximum(
        self, of: str, *, by: Axes = ..., method: str | None = ..., plan: Literal[False] = ..., **keys: Unpack[_Shared]
    ) -> Release: ...
    @overload
    def second_maximum(
        self, of: str, *, by: Axes = ..., method: str | None = ..., plan: Literal[True], **keys: Unpack[_Shared]
    ) -> TablePlan: ...
    @overload
    def standard_deviation(
        self,
        of: str,
        *,
        by: Axes = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        replicates: int | None = ...,
        learn: Amount | None = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        beyond: Amount | None = ...,
        bound_clipped: Literal[True] | None = ...,
        regularise: Amount | None = ...,
        common_weight: Amount | None = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Weighted],
    ) -> Release: ...
    @overload
    def standard_deviation(
        self,
        of: str,
        *,
        by: Axes = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        replicates: int | None = ...,
        learn: Amount | None = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        beyond: Amount | None = ...,
        bound_clipped: Literal[True] | None = ...,
        regularise: Amount | None = ...,
        common_weight: Amount | None = ...,
        plan: Literal[True],
        **keys: Unpack[_Weighted],
    ) -> TablePlan: ...
    @overload
    def total(
        self,
        of: str,
        *,
        by: Axes = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        replicates: int | None = ...,
        learn: Amount | None = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        beyond: Amount | None = ...,
        bound_clipped: Literal[True] | None = ...,
        regularise: Amount | None = ...,
        common_weight: Amount | None = ...,
        membership: str | None = ...,
        declared: str | Sequence[str] = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Weighted],
    ) -> Release: ...
    @overload
    def total(
        self,
        of: str,
        *,
        by: Axes = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        replicates: int | None = ...,
        learn: Amount | None = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        beyond: Amount | None = ...,
        bound_clipped: Literal[True] | None = ...,
        regularise: Amount | None = ...,
        common_weight: Amount | None = ...,
        membership: str | None = ...,
        declared: str | Sequence[str] = ...,
        plan: Literal[True],
        **keys: Unpack[_Weighted],
    ) -> TablePlan: ...
    @overload
    def variance(
        self,
        of: str,
        *,
        by: Axes = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        replicates: int | None = ...,
        learn: Amount | None = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        beyond: Amount | None = ...,
        bound_clipped: Literal[True] | None = ...,
        regularise: Amount | None = ...,
        common_weight: Amount | None = ...,
        plan: Literal[False] = ...,
        **keys: Unpack[_Weighted],
    ) -> Release: ...
    @overload
    def variance(
        self,
        of: str,
        *,
        by: Axes = ...,
        error: Literal["noise", "sampling", "bootstrap"] | None = ...,
        replicates: int | None = ...,
        learn: Amount | None = ...,
        clip: Amount | Sequence[Amount] | None = ...,
        beyond: Amount | None = ...,
        bound_clipped: Literal[True] | None = ...,
        regularise: Amount | None = ...,
        common_weight: Amount | None = ...,
        plan: Literal[True],
        **keys: Unpack[_Weighted],
    ) -> TablePlan: ...
