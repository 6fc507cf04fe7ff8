import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { assembleVersion, newestFirst, versionFolder } from "./site-versions.ts";

async function builtSite(top: string, text: string): Promise<string> {
  const site = join(top, `site-${text}`);
  await mkdir(join(site, "assets"), { recursive: true });
  await writeFile(join(site, "index.html"), text);
  return site;
}

test("two versions stand beside each other, and the newer one is latest", async () => {
  await using top = await mkdtempDisposable(join(tmpdir(), "vk-versions-"));
  const into = join(top.path, "pages");
  assembleVersion({ site: await builtSite(top.path, "one"), into, version: "1.1.4" });
  assembleVersion({ site: await builtSite(top.path, "two"), into, version: "1.2.0" });
  const read = (path: string): Promise<string> => readFile(join(into, path), "utf8");

  expect(await Promise.all(["v1.1", "v1.2", "latest"].map((folder) => read(`${folder}/index.html`)))).toEqual(["one", "two", "two"]);
  expect(JSON.parse(await read("versions.json"))).toEqual({
    versions: [
      { name: "latest (v1.2)", path: "latest/" },
      { name: "v1.2", path: "v1.2/" },
      { name: "v1.1", path: "v1.1/" },
    ],
  });
  expect(await read("v1.1/assets/version.js")).toBe('window.siteVersion = "v1.1";\n');
  expect(await read("latest/assets/version.js")).toBe('window.siteVersion = "latest (v1.2)";\n');
  expect(await read("index.html")).toContain("url=latest/");
});

test("a patch of an older version replaces that version, and latest stays", async () => {
  await using top = await mkdtempDisposable(join(tmpdir(), "vk-versions-"));
  const into = join(top.path, "pages");
  for (const [text, version] of [
    ["old", "1.1.0"],
    ["new", "1.2.0"],
    ["patch", "1.1.1"],
  ] as const)
    assembleVersion({ site: await builtSite(top.path, text), into, version });
  expect(await readFile(join(into, "v1.1/index.html"), "utf8")).toBe("patch");
  expect(await readFile(join(into, "latest/index.html"), "utf8")).toBe("new");
});

test("versions are ordered by number, and other folders are no versions", () => {
  expect(newestFirst(["v1.9", "latest", "v1.10", ".git", "v0.3"])).toEqual(["v1.10", "v1.9", "v0.3"]);
});

test("a malformed version, and a folder without a site, are refused", () => {
  expect(() => versionFolder("next")).toThrow('--version "next": expected a version such as 1.2.3');
  expect(() => assembleVersion({ site: "/nowhere", into: "/nowhere/else", version: "1.0.0" })).toThrow(
    "--site /nowhere: expected a built site",
  );
});
