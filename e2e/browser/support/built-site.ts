import { execFile } from "node:child_process";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { assembleVersion } from "../../../tools/site/site-versions.ts";
import { serveFolder, type StaticServer } from "./static-server.ts";

const repository = join(import.meta.dirname, "../../..");

/** The documentation site as it is published: two versions, and the newer one as `latest`. */
export interface BuiltSite extends AsyncDisposable {
  /** Address of `latest`, with a slash at its end. */
  readonly url: string;
  /** Address above the versions. */
  readonly top: string;
}

/** Builds the site of this commit once, and serves it as two versions on loopback. */
export async function openBuiltSite(): Promise<BuiltSite> {
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.use(await mkdtempDisposable(join(tmpdir(), "vk-site-")));
  const built = join(folder.path, "built");
  const program = join(repository, "node_modules/.bin/typedoc");
  // Level docs fails on warnings.
  const args = ["--out", built, "--logLevel", "Warn", "--treatWarningsAsErrors", "false"];
  await promisify(execFile)(program, args, { cwd: repository, timeout: 500_000 });
  const pages = join(folder.path, "pages");
  for (const version of ["1.1.0", "1.2.0"]) assembleVersion({ site: built, into: pages, version });
  const server: StaticServer = cleanup.use(await serveFolder(pages));
  const opened = cleanup.move();
  return { url: `${server.url}latest/`, top: server.url, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
