import type { EngineApi } from "../../docker/support/engine-api.ts";

/** A container as the engine itself describes it. */
export interface EngineInstance {
  readonly id: string;
  readonly name: string;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly isRunning: boolean;
}

/** Containers of a group, with the one that holds its network, sorted by name. */
export async function instancesOf(api: EngineApi, group: string): Promise<readonly EngineInstance[]> {
  const all = (await api.json("GET", "/containers/json?all=1")) as readonly { readonly Id: string; readonly Names: readonly string[] }[];
  const own = all.filter(({ Names }) => Names.some((name) => name.includes(`-${group}`)));
  const instances = await Promise.all(
    own.map(async ({ Id, Names: [name = ""] }) => {
      const { State } = (await api.json("GET", `/containers/${Id}/json`)) as {
        readonly State: { readonly StartedAt: string; readonly Running: boolean };
      };
      return { id: Id, name, startedAt: State.StartedAt, isRunning: State.Running };
    }),
  );
  return instances.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}
