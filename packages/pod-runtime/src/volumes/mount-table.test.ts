import { expect, test } from "vitest";
import { mountedAt, mountedWithin, parseMountTable } from "./mount-table.ts";

const table = parseMountTable(
  [
    "22 27 0:21 / /proc rw,relatime - proc proc rw",
    "42 27 254:0 /data /pods/u1 rw,relatime shared:1 master:2 - ext4 /dev/vda rw",
    String.raw`43 42 0:50 / /pods/u1/with\040space\134and\012line rw - tmpfs tmpfs rw`,
    "44 42 0:51 / /pods/u1/twice rw - tmpfs tmpfs rw",
    "45 44 0:52 / /pods/u1/twice rw - ext4 /dev/vdb rw",
    "46 27 0:53 / /pods/u12 rw - tmpfs tmpfs rw",
    "",
  ].join("\n"),
);

test("optional fields and octal escapes are parsed", () => {
  expect(table.slice(0, 3)).toEqual([
    { path: "/proc", fileSystem: "proc" },
    { path: "/pods/u1", fileSystem: "ext4" },
    { path: "/pods/u1/with space\\and\nline", fileSystem: "tmpfs" },
  ]);
});

test("of two mounts at a path the later one is visible", () => {
  expect(mountedAt(table, "/pods/u1/twice")?.fileSystem).toBe("ext4");
  expect(mountedAt(table, "/pods")).toBeUndefined();
});

test("mounts inside a folder are listed in the order of unmounting, without those of folders with a similar name", () => {
  expect(mountedWithin(table, "/pods/u1").map(({ path }) => path)).toEqual([
    "/pods/u1/twice",
    "/pods/u1/twice",
    "/pods/u1/with space\\and\nline",
    "/pods/u1",
  ]);
});

test("the last mount at a path is the visible one, and mounts inside it are unmounted first", () => {
  const table = ["/a", "/a/b", "/ab", "/a", "/c"].map((path, index) => ({ path, fileSystem: `fs${index}` }));

  expect(mountedAt(table, "/a")).toEqual({ path: "/a", fileSystem: "fs3" });
  expect(mountedAt(table, "/none")).toBeUndefined();
  expect(mountedWithin(table, "/a").map(({ fileSystem }) => fileSystem)).toEqual(["fs3", "fs1", "fs0"]);
});

test("a malformed line is left out", () => {
  expect(parseMountTable("\nshort line\n1 2 3 4\n")).toEqual([]);
});
