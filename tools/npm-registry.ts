import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runServer } from "verdaccio";
import { stringify } from "yaml";
import { z } from "zod";
import { programName, scope } from "./scope.ts";

/** A version in a registry. */
interface PublishedVersion {
  readonly version: string;
  /** Distribution tags that point to it, such as `latest`. */
  readonly tags: readonly string[];
  /** Bytes of the tarball as downloaded. */
  readonly size: number;
}

/** An npm registry on loopback that has none of our packages until they are published to it. */
export interface NpmRegistry extends AsyncDisposable {
  /** Such as `http://127.0.0.1:4000/`. */
  readonly url: string;
  /** Lines of an `.npmrc` that select the registry and allow publishing to it. */
  readonly npmrc: string;
  /** Versions of a package, oldest first; empty if there is none. */
  versionsOf(name: string): Promise<readonly PublishedVersion[]>;
}

/** Options of {@link startNpmRegistry}. */
export interface NpmRegistryOptions {
  /** Registry that serves all packages but ours. Default: none, so that nobody else's package is found. */
  readonly uplink?: string;
}

const user = { name: "rehearsal", password: "rehearsal" };

const packument = z.object({
  "dist-tags": z.record(z.string(), z.string()),
  versions: z.record(z.string(), z.object({ dist: z.object({ tarball: z.string() }) })),
});

const login = z.object({ token: z.string().min(1) });

/** Starts Verdaccio on a free port of 127.0.0.1, with empty storage that is removed at the end. */
export async function startNpmRegistry({ uplink }: NpmRegistryOptions = {}): Promise<NpmRegistry> {
  const folder = mkdtempSync(join(tmpdir(), "vk-registry-"));
  const own = { access: "$all", publish: "$authenticated" };
  const settings = {
    storage: join(folder, "storage"),
    auth: { htpasswd: { file: join(folder, "htpasswd") } },
    uplinks: uplink === undefined ? {} : { upstream: { url: uplink, timeout: "60s", maxage: "60m", cache: true } },
    packages: {
      // Without a proxy, so that a package of ours that was not published is missing even if somebody else has its name.
      [programName]: own,
      [`${scope}/*`]: own,
      "**": { access: "$all", ...(uplink === undefined ? {} : { proxy: "upstream" }) },
    },
    web: { enable: false },
    max_body_size: "100mb",
    log: { type: "stdout", format: "pretty", level: "fatal" },
  };
  const file = join(folder, "config.yaml");
  writeFileSync(file, stringify(settings));
  const app: Server = await runServer(file);
  app.listen(0, "127.0.0.1");
  await once(app, "listening");
  const address = app.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const url = `http://127.0.0.1:${port}/`;
  const registry = {
    url,
    npmrc: "",
    versionsOf: (name: string) => versionsOf(url, name),
    async [Symbol.asyncDispose]() {
      app.close();
      app.closeAllConnections();
      await once(app, "close");
      rmSync(folder, { recursive: true, force: true });
    },
  };
  const token = await createUser(url);
  return { ...registry, npmrc: `registry=${url}\n${url.replace("http:", "")}:_authToken=${token}\n` };
}

async function createUser(url: string): Promise<string> {
  const response = await fetch(`${url}-/user/org.couchdb.user:${user.name}`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...user, type: "user" }),
  });
  if (!response.ok) throw new Error(`create the user of the registry on loopback: ${response.status} ${await response.text()}`);
  return login.parse(await response.json()).token;
}

async function versionsOf(url: string, name: string): Promise<PublishedVersion[]> {
  const response = await fetch(`${url}${name.replace("/", "%2f")}`);
  if (response.status === 404) return [];
  if (!response.ok) throw new Error(`read ${name} from the registry on loopback: ${response.status} ${await response.text()}`);
  const { "dist-tags": tags, versions } = packument.parse(await response.json());
  return Promise.all(
    Object.entries(versions).map(async ([version, { dist }]) => ({
      version,
      tags: Object.keys(tags).filter((tag) => tags[tag] === version),
      size: (await (await fetch(dist.tarball)).arrayBuffer()).byteLength,
    })),
  );
}
