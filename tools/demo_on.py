"""`make demo ENGINE=postgres` and `ENGINE=spark`: the demo's table from a server of its own instead of from a file."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))


@contextmanager
def postgres(microdata: Path) -> Iterator[str]:
    """A PostgreSQL server that holds the rows until the demo ends, and a role that may only read them."""
    import io

    import psycopg
    import pyarrow.csv as pc
    import pyarrow.parquet as pq
    from tests.ledger.conftest import Server

    folder = Path(tempfile.mkdtemp(prefix="dalenius-demo-"))
    server = Server(folder)
    try:
        table = pq.read_table(microdata)
        with psycopg.connect(server.database("demo"), autocommit=True, connect_timeout=10) as owner:
            columns = ", ".join(f'"{name}" text' for name in table.column_names)
            owner.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
            owner.execute(f"CREATE TABLE public.persons ({columns})")
            with owner.cursor().copy("COPY public.persons FROM STDIN WITH (FORMAT csv)") as copy:
                for batch in table.to_batches(max_chunksize=100_000):
                    text = io.BytesIO()
                    pc.write_csv(batch, text, pc.WriteOptions(include_header=False))
                    copy.write(text.getvalue())
            owner.execute("CREATE ROLE reader LOGIN")
            owner.execute("GRANT SELECT ON public.persons TO reader")
        yield f"postgresql://reader@127.0.0.1:{server.port}/demo?table=public.persons"
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def spark(microdata: Path) -> Iterator[str]:
    """Spark on this machine, reading the file itself."""
    yield f"spark://local?path={microdata.resolve()}"


ENGINES: dict[str, Callable] = {"postgres": postgres, "spark": spark}


def main(engine: str) -> None:
    """Write the demo's documents, with another source, and release its table."""
    from dalenius.cli.demo import release_count
    from dalenius.demo import population

    if engine not in ENGINES:
        raise SystemExit(f"ENGINE is one of {', '.join(ENGINES)}; received {engine!r}.")
    folder = Path(f"dalenius-demo-{engine}")
    shutil.rmtree(folder, ignore_errors=True)
    population.materialise(folder)
    dataset = folder / "dataset.toml"
    lines = dataset.read_text(encoding="utf-8").splitlines()
    [named] = [line for line in lines if line.startswith("source = ")]
    microdata = folder / named.split('"')[1]
    with ENGINES[engine](microdata) as address:
        text = "\n".join(f'source = "{address}"' if line == named else line for line in lines)
        dataset.write_text(text + "\n", encoding="utf-8")
        release_count(folder, as_json=False)


if __name__ == "__main__":
    main(sys.argv[1])
