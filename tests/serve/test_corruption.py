"""Damage to a data directory is noticed, named, and never served."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from kontend import Cluster
from kontend.cluster.state import State
from kontend.serve.storage.record import all_rows
from kontend.serve.storage.recovery import recover
from kontend.serve.storage.store import Damaged, Store
from serve.wire import CONFIG_MAPS, Client, config_map, process

OBJECTS = 60


def content(state: State) -> dict[tuple[str, str, str], bytes]:
    """The stored objects by place."""
    return {
        (resource, key.namespace, key.name): version.body
        for resource, objects in state.kinds.items()
        for key, version in objects.items()
    }


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, State]:
    """A directory with a database and a log, as after a crash, and what is in it."""
    live, copy = tmp_path_factory.mktemp("live"), tmp_path_factory.mktemp("kept")
    cluster = Cluster()
    store = Store(live)
    store.save(None, cluster.state)
    for number in range(OBJECTS):
        if number == OBJECTS - 10:
            store.close()  # all so far goes from the log into the database
            store = Store(live)
            assert store.load() is not None
        before = cluster.state
        cluster.create(config_map(f"c{number}", text=f"{number}" * 500))
        store.save(before, cluster.state)
    for path in live.iterdir():
        shutil.copy(path, copy)
    store.close()
    assert (copy / "kontend.db-wal").stat().st_size > 10_000
    return copy, cluster.state


def damaged(kept: Path, into: Path, damage: Callable[[Path], object]) -> Path:
    """A copy of the directory, with something done to it."""
    shutil.copytree(kept, into)
    damage(into)
    return into


def flip(path: Path, random: Random) -> str:
    """Flip a bit of a file."""
    data = bytearray(path.read_bytes())
    index, bit = random.randrange(len(data)), random.randrange(8)
    data[index] ^= 1 << bit
    path.write_bytes(data)
    return f"{path.name} byte {index} bit {bit}"


def load(directory: Path) -> State | None:
    """The state of a directory."""
    store = Store(directory)
    try:
        return store.load()
    finally:
        store.close()


@pytest.mark.parametrize("name", ["kontend.db", "kontend.db-wal", "kontend.head"])
def test_a_flipped_bit_is_noticed_or_harmless(kept: tuple[Path, State], tmp_path: Path, name: str) -> None:
    """Nothing is ever loaded with another content."""
    directory, state = kept
    random, refused = Random(5), 0
    for trial in range(60):
        copy = tmp_path / str(trial)
        shutil.copytree(directory, copy)
        where = flip(copy / name, random)
        try:
            loaded = load(copy)
        except Damaged:
            refused += 1
            continue
        assert loaded is not None, where
        assert content(loaded) == content(state), where
        assert list(all_rows(loaded)) == list(all_rows(state)), where
        assert (loaded.resource_version, loaded.serial) == (state.resource_version, state.serial), where
    assert refused > 10


@pytest.mark.parametrize(
    "damage",
    [
        lambda at: (at / "kontend.db-wal").unlink(),
        lambda at: (at / "kontend.db-wal").write_bytes(b""),
        lambda at: (at / "kontend.db-wal").write_bytes((at / "kontend.db-wal").read_bytes()[:-5000]),
        lambda at: (at / "kontend.head").unlink(),
        lambda at: (at / "kontend.head").write_bytes(b""),
        lambda at: [(at / name).unlink() for name in ("kontend.db-wal", "kontend.head")],
        lambda at: (at / "kontend.db").unlink(),
        lambda at: [(at / name).unlink() for name in ("kontend.db", "kontend.db-wal")],
    ],
)
def test_a_missing_or_truncated_file_is_noticed(
    kept: tuple[Path, State], tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    """Though SQLite would start from what is left."""
    copy = damaged(kept[0], tmp_path / "copy", damage)
    with pytest.raises(Damaged, match="--recover"):
        load(copy)


def test_a_damaged_record_is_named(kept: tuple[Path, State], tmp_path: Path) -> None:
    """So that it can be looked for in a backup."""
    needle = b'"text":"' + b"7" * 500

    def damage(at: Path) -> None:
        path = at / "kontend.db"
        data = path.read_bytes()
        assert needle in data
        path.write_bytes(data.replace(needle, needle.replace(b"7", b"8", 1)))

    copy = damaged(kept[0], tmp_path / "copy", damage)
    with pytest.raises(Damaged, match=r"version \d+ \(configmaps default/c7\) is not what was written"):
        load(copy)


def test_what_can_be_read_is_recovered_when_asked_for(kept: tuple[Path, State], tmp_path: Path) -> None:
    """The rest is named, the damaged files stay, and no version or uid comes twice."""
    directory, state = kept
    whole, random = content(state), Random(8)
    for trial in range(25):
        copy = damaged(directory, tmp_path / str(trial), lambda at: flip(at / "kontend.db", random))
        recovered = recover(copy)
        assert recovered.state is not None
        objects = content(recovered.state)
        assert all(whole[place] == body for place, body in objects.items())
        if recovered.report:
            assert (copy / "damaged-1" / "kontend.db").exists()
            assert recovered.state.resource_version > state.resource_version
            assert recovered.state.serial > state.serial
            assert len(objects) == len(whole) or any("left out" in line for line in recovered.report)
        recovered.store.close()
        again = load(copy)
        assert again is not None
        assert content(again) == objects


def test_a_damaged_directory_is_refused_and_recovered_by_the_command(kept: tuple[Path, State], tmp_path: Path) -> None:
    """With exit code 1 and a sentence, then with what is left."""
    copy = damaged(kept[0], tmp_path / "copy", lambda at: (at / "kontend.db-wal").unlink())
    with process("--data", str(copy)) as refused:
        assert refused.popen.wait(20) != 0
        assert refused.popen.stderr is not None
        assert "the log (kontend.db-wal) is missing or damaged" in refused.popen.stderr.read()
    with process("--data", str(copy), "--recover") as running, Client(running.url) as client:
        names = {item["metadata"]["name"] for item in client.get(CONFIG_MAPS).json["items"]}
        assert {f"c{number}" for number in range(OBJECTS - 10)} <= names
        assert client.create("new").code == 201
