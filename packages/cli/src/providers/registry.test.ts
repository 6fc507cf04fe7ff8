import { expect, test } from "vitest";
import { builtInProviders, loadBuiltIn } from "./registry.ts";

/** What an import says of a package that is not there. */
function missing(packageName: string): Error {
  return Object.assign(new Error(`Cannot find package '${packageName}' imported from /program/registry.js`), {
    code: "ERR_MODULE_NOT_FOUND",
  });
}

const failing = (error: Error): Promise<unknown> =>
  loadBuiltIn({ name: "far", aliases: [], load: () => Promise.reject(error) }).catch((thrown: unknown) => thrown);

test("every provider that comes with the program can be loaded here", async () => {
  const bundled = builtInProviders.filter(({ load }) => load);
  const definitions = await Promise.all(bundled.map(loadBuiltIn));

  expect(definitions.map((definition) => definition?.name)).toEqual(bundled.map(({ name }) => name));
});

test("a built-in provider whose package was left out is not there; any other failure is told", async () => {
  const [broken, other] = [new Error("broken"), missing("zod")];

  expect(await failing(missing("@virtual-kubelet/provider-far"))).toBeUndefined();
  expect(await failing(broken)).toBe(broken);
  expect(await failing(other)).toBe(other);
});
