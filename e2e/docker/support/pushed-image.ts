import { inject } from "vitest";
import type { EngineApi } from "./engine-api.ts";
import { registryUser } from "./local-registry.ts";

/** An image that exists only in the registry. */
export interface PushedImage {
  /** `host:port/repository:tag`. */
  readonly name: string;
  /** `host:port/repository@sha256:…`. */
  readonly digest: string;
}

/** Pushes a local image to the level's registry, and removes its new names from the engine. */
export async function pushImage(api: EngineApi, local: string, repository: string): Promise<PushedImage> {
  const repo = `${inject("registry")}/${repository}`;
  await api.json("POST", `/images/${local}/tag?repo=${encodeURIComponent(repo)}&tag=1`);
  const auth = Buffer.from(JSON.stringify({ ...registryUser, serveraddress: inject("registry") })).toString("base64");
  const { status, body } = await api.ask("POST", `/images/${repo}/push?tag=1`, undefined, { "x-registry-auth": auth });
  const digest = /digest: (sha256:[0-9a-f]{64})/.exec(body)?.[1];
  if (status !== 200 || digest === undefined) throw new Error(`push ${repo}: ${status} ${body.trim()}`);
  await forgetImage(api, repo);
  return { name: `${repo}:1`, digest: `${repo}@${digest}` };
}

/** Removes all names of a repository from the engine. An image without names is deleted. */
export async function forgetImage(api: EngineApi, repo: string): Promise<void> {
  const filters = encodeURIComponent(JSON.stringify({ reference: [repo] }));
  const found = (await api.json("GET", `/images/json?filters=${filters}`)) as { RepoTags: string[] | null; RepoDigests: string[] | null }[];
  for (const { RepoTags, RepoDigests } of found)
    for (const name of [...(RepoTags ?? []), ...(RepoDigests ?? [])]) if (name.startsWith(repo)) await api.ask("DELETE", `/images/${name}`);
}
