"""test_platforms.py - no library gets into the package of another platform."""
import pytest

from conftest import ALLOW, CLEAN, ELF, HERE, LIBRARY, ROOT, put, put_one, run

PLATFORMS = ROOT / "packages" / "platforms"


def test_the_libraries_are_listed_in_order(all_libs):
    assert run(PLATFORMS, all_libs, env={**CLEAN, **ALLOW}).splitlines() == [
        f"{name} {all_libs}/{name}/counter.{'dll' if name.startswith('windows') else 'so'}" for name in sorted([*ELF, "windows-x86_64"])]


@pytest.mark.parametrize("folder, built_for", [
    ("linux-aarch64", "linux-x86_64"), ("linux-musl-x86_64", "linux-x86_64"), ("linux-x86_64", "linux-musl-x86_64"),
    ("linux-x86_64", "windows-x86_64"), ("windows-x86_64", "linux-s390x")])
def test_a_library_in_the_folder_of_another_platform_is_refused(tmp_path, folder, built_for):
    put(tmp_path, folder, built_for)
    assert f"/{folder}/counter." in (said := run(PLATFORMS, tmp_path, ok=False)) and said.endswith(f" was built for {built_for}\n")


def test_a_program_in_the_folder_of_another_platform_is_refused(tmp_path):
    put(tmp_path, "linux-aarch64")
    put_one(tmp_path / "linux-aarch64" / "sqlite-counter", "linux-s390x")
    assert run(PLATFORMS, tmp_path, ok=False).endswith("/linux-aarch64/sqlite-counter was built for linux-s390x\n")


@pytest.mark.parametrize("built_for, found", [("windows-aarch64", "Windows on another machine"), ("windows-x86", "Windows on another machine")])
def test_a_library_for_windows_on_another_machine_is_refused(tmp_path, built_for, found):
    put(tmp_path, "windows-x86_64", built_for)
    assert run(PLATFORMS, tmp_path, ok=False).endswith(f"windows-x86_64/counter.dll was built for {found}\n")


@pytest.mark.parametrize("head", [b"MZ" + bytes(100), b"MZ", b"MZ" + bytes(58) + b"\xff\xff\xff\x7f"])
def test_what_only_begins_like_a_program_for_windows_is_refused(tmp_path, head):
    put(tmp_path, "windows-x86_64")
    (tmp_path / "windows-x86_64" / "counter.dll").write_bytes(head)
    assert run(PLATFORMS, tmp_path, ok=False).endswith("windows-x86_64/counter.dll was built for an unknown system\n")


@pytest.mark.skipif(b"libuuid.so" not in LIBRARY.read_bytes(), reason="the library needs no libuuid")
def test_a_library_that_needs_libuuid_is_refused(libs):
    assert f"/{HERE}/counter.so needs libuuid.so.1; compile it with -DCOUNTER_NO_LIBUUID\n" in run(PLATFORMS, libs, ok=False)


@pytest.mark.parametrize("tool", [PLATFORMS, *(ROOT / "packages" / name / "build" for name in ("npm", "python", "debian")),
                                  ROOT / "packages" / "debian" / "try", ROOT / "tools" / "dist", ROOT / "tools" / "sqlpkg"],
                         ids=lambda tool: str(tool.relative_to(ROOT)))
def test_wrong_usage_is_told_in_one_line(tool):
    name, said = str(tool.relative_to(ROOT)), run(tool, ok=False)
    assert said.startswith(f"usage: {name} ") and ": " in said[7:] and said.count("\n") == 1


@pytest.mark.parametrize("builder", ["npm", "python"])
def test_what_is_no_folder_of_libraries_is_refused_and_nothing_is_built(tmp_path, builder):
    build, out = ROOT / "packages" / builder / "build", tmp_path / "out"
    libs = tmp_path / "libs"
    libs.mkdir()
    assert "has no folder of a platform" in run(build, libs, out, ok=False)
    (libs / "linux-x86_64").mkdir()
    assert "linux-x86_64/counter.so is missing" in run(build, libs, out, ok=False)
    (libs / "linux-x86").mkdir()
    assert "linux-x86 is no platform of: linux-aarch64 " in run(build, libs, out, ok=False)
    assert not out.exists() or not list(out.iterdir())
