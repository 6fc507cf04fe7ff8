import { createPod, deleteNamed } from "./actions.ts";
import type { World } from "./world.ts";

/** How many creations hang: more than the provider is called at once. */
const stuckPods = 60;

/** Within how long other pods have to run all the same, in milliseconds. */
const boundMs = 60_000;

/**
 * Creations of 60 pods hang, in a world without faults. Other pods have to start in time, and those that are deleted to
 * end.
 */
export async function clog(world: World): Promise<void> {
  const { chance, invariants, reachability, trace } = world;
  await world.pass(30_000);
  const running = await createSome(world);
  await world.pass(boundMs);
  reachability.isStuck = true;
  trace.add("back end: creations of stuck pods hang");
  for (let made = 0; made < stuckPods; made++) await createPod(world, { name: world.nextName(), isStuck: true });
  await world.pass(chance.pick([100, 2_000, 30_000]));
  for (const name of running.slice(0, 2)) await deleteNamed(world, name, undefined);
  const later = await createSome(world);
  await world.pass(boundMs);
  const waiting = world.pods.filter(({ metadata, status }) => later.includes(metadata?.name ?? "") && status?.phase === "Pending");
  if (waiting.length > 0)
    invariants.report("I5", `${waiting.length} pods have not started after ${boundMs / 1000} s, while the creations of others hang`);
  reachability.isStuck = false;
  trace.add("back end: creations hang no more");
}

async function createSome(world: World): Promise<string[]> {
  const names = [world.nextName(), world.nextName(), world.nextName()];
  for (const name of names) await createPod(world, { name });
  return names;
}
