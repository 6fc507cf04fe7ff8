import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { CreateError } from "./create-error.ts";

/**
 * Finds the tarball of each package, as a manifest's `file:` and path.
 *
 * @param directory - absolute path of the folder with the output of `pnpm pack` or `npm pack`
 * @param shown - folder as the user wrote it
 * @throws CreateError if the folder is missing, or has none or several tarballs of a package
 */
export async function findTarballs(directory: string, shown: string, packages: readonly string[]): Promise<Record<string, string>> {
  const flag = `--tarballs: ${JSON.stringify(shown)}`;
  const files = await readdir(directory).catch((cause: unknown) => {
    throw new CreateError(`${flag}: cannot be read, expected a folder of packed packages`, { cause });
  });
  return Object.fromEntries(
    packages.map((name) => {
      // @scope/name of version 1.2.3 is packed as scope-name-1.2.3.tgz.
      const stem = `${name.replace("@", "").replace("/", "-")}-`;
      const found = files.filter((file) => file.startsWith(stem) && /^\d+\.\d+\.\d+\S*\.tgz$/.test(file.slice(stem.length)));
      const [file] = found;
      if (file === undefined || found.length > 1)
        throw new CreateError(`${flag}: it holds ${found.join(" and ") || `no ${stem}*.tgz`}, expected one packed package of ${name}`);
      return [name, `file:${join(directory, file)}`];
    }),
  );
}
