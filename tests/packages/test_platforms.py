"""test_platforms.py - no library gets into the package of another platform."""
import pytest

from conftest import ELF, ROOT, put, run

PLATFORMS = ROOT / "packages" / "platforms"


def test_the_libraries_are_listed_in_order(all_libs):
    assert run(PLATFORMS, all_libs).splitlines() == [
        f"{name} {all_libs}/{name}/counter.{'dll' if name.startswith('windows') else 'so'}" for name in sorted([*ELF, "windows-x86_64"])]


@pytest.mark.parametrize("folder, built_for", [
    ("linux-aarch64", "linux-x86_64"), ("linux-musl-x86_64", "linux-x86_64"), ("linux-x86_64", "linux-musl-x86_64"),
    ("linux-x86_64", "windows-x86_64"), ("windows-x86_64", "linux-s390x")])
def test_a_library_in_the_folder_of_another_platform_is_refused(tmp_path, folder, built_for):
    put(tmp_path, folder, built_for)
    assert f"/{folder}/counter." in (said := run(PLATFORMS, tmp_path, ok=False)) and said.endswith(f" was built for {built_for}\n")


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
