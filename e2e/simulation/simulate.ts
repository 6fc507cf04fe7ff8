import { createPods, deleteAll, drawAction, drawHabits } from "./actions.ts";
import { burst } from "./burst.ts";
import { clog } from "./clog.ts";
import type { Violation } from "./invariants.ts";
import type { WorldKind } from "./profile.ts";
import { unrestOf } from "./rest-state.ts";
import { World } from "./world.ts";

/** How a seed went. */
export interface SeedResult {
  readonly seed: number;
  readonly kind: WorldKind;
  /** The violated invariant; absent if all held. */
  readonly violation: Violation | undefined;
  /** Milliseconds from the end of the faults until the world was at rest. */
  readonly restMs: number;
  /** Virtual milliseconds the world lived. */
  readonly livedMs: number;
  /** The last events. */
  readonly trace: readonly string[];
}

/**
 * How long a world may take to come to rest, once the last call that hangs has come back: the longest time that a provider may
 * ask to be left alone, an inventory, the grace age of an orphan, two sweeps.
 */
const restBoundMs = 1_500_000;

/** How often the operator looks at what the program says, while the world is not at rest. */
const operatorMs = 120_000;

/** How long one kind of call fails, in minutes. */
const longMinutes = 100;

/** How often a call that fails may be tried meanwhile: what waits for a secret is tried every minute, all else less often. */
const callsInLongTrouble = 1.2 * longMinutes;

/** And after the back end was away: what it takes to hear of it, and to run what waits. */
const recoveryBoundMs = 60_000;

/** Lives through the world of a seed. @param traceLimit - events that are kept of it; default: the last few thousand */
export async function simulate(seed: number, traceLimit?: number): Promise<SeedResult> {
  const world = await World.create(seed, { traceLimit });
  world.trace.add("seed", String(seed), world.profile);
  const restMs = await live(world);
  const { violation } = world.invariants;
  return {
    seed,
    kind: world.profile.kind,
    violation,
    restMs,
    livedMs: world.clock.monotonic(),
    trace: violation || traceLimit === Infinity ? world.trace.lines() : [],
  };
}

/** @returns how long the world took to come to rest, in milliseconds */
async function live(world: World): Promise<number> {
  await using _ended = world;
  if (!(await go(world))) return 0;
  const restMs = await rest(world);
  if (!world.invariants.violation) await world.stopRival();
  if (!world.invariants.violation) await world.stop();
  return restMs;
}

/** What happens while there are faults. @returns whether all held */
async function go(world: World): Promise<boolean> {
  const { chance, profile, network, reachability, invariants: watched } = world;
  world.start();
  if (profile.kind === "burst") await burst(world);
  if (profile.kind === "clogged") await clog(world);
  network.hasFaults = true;
  reachability.hasFaults = true;
  const habits = drawHabits(chance, profile.exitsTimes);
  for (let step = 0; step < profile.steps && !watched.violation; step++) {
    await drawAction(chance, habits)(world);
    await world.pass(chance.pick([0, 5, 200, 1_000, 5_000, 20_000]));
  }
  if (profile.kind === "long") await longTrouble(world);
  return !watched.violation;
}

/** One kind of call fails for more than an hour, while all else works. */
async function longTrouble(world: World): Promise<void> {
  const { chance, network, reachability, trace, invariants: watched } = world;
  const method = chance.pick(["createPod", "deletePod"] as const);
  network.hasFaults = false;
  reachability.hasFaults = false;
  trace.add("back end: refuses every", method);
  reachability.refused.add(method);
  await createPods(world, 3);
  if (method === "deletePod") await deleteAll(world);
  await world.pass(60_000);
  watched.countCalls();
  for (let minutes = 0; minutes < longMinutes; minutes++) await world.pass(60_000);
  watched.checkCalls(callsInLongTrouble);
  reachability.refused.clear();
  trace.add("back end: takes", method, "again");
}

/** The faults end, and the world has to come to rest. @returns how long that took */
async function rest(world: World): Promise<number> {
  const { profile, network, reachability, trace, invariants: watched } = world;
  network.hasFaults = false;
  reachability.hasFaults = false;
  // What lists lacked while there were faults nothing but another list brings back.
  network.expireVersions();
  network.cutWatches();
  world.start();
  trace.add("the faults end");
  if (profile.kind === "recovery") await recovery(world);
  const hangMs = profile.provider.longestHangMs;
  const boundMs = profile.kind === "recovery" ? recoveryBoundMs : restBoundMs + hangMs;
  const startMs = world.clock.monotonic();
  let raisedMs = startMs;
  let restedMs: number | undefined;
  for (;;) {
    const { pods, orphans } = unrestOf(world);
    const nowMs = world.clock.monotonic();
    const tookMs = nowMs - startMs;
    if (pods.length + orphans.length === 0) {
      restedMs ??= tookMs;
      // What looks at rest while a call is under way may be about to change.
      if (world.callsUnderWay.length === 0 || tookMs > restBoundMs + hangMs) {
        await stayAtRest(world);
        return restedMs;
      }
    } else restedMs = undefined;
    if (pods.length > 0 && tookMs > boundMs) watched.report("I5", `not at rest after ${boundMs / 1000} s: ${pods.slice(0, 5).join("; ")}`);
    if (orphans.length > 0 && nowMs - raisedMs > restBoundMs + hangMs)
      watched.report("I1", `still there after ${(nowMs - raisedMs) / 1000} s: ${orphans.slice(0, 5).join("; ")}`);
    if (watched.violation) return tookMs;
    if (orphans.length > 0 && nowMs - raisedMs > operatorMs && (await world.raiseBrake())) raisedMs = world.clock.monotonic();
    await world.pass(tookMs < 20_000 ? 1_000 : 5_000);
  }
}

/** Checks that a world at rest stays at rest, that late instances are swept, and that the program has forgotten pods that are gone. */
async function stayAtRest(world: World): Promise<void> {
  const { invariants: watched } = world;
  await world.pass(10_000);
  const known = (): number => (world.program?.node.health.knownPods ?? 0) - world.pods.length;
  const boundMs = restBoundMs + world.profile.provider.longestHangMs;
  for (let waitedMs = 0; waitedMs < boundMs && known() + unrestOf(world).orphans.length > 0; waitedMs += 10_000) await world.pass(10_000);
  const { pods, orphans } = unrestOf(world);
  if (pods.length > 0) watched.report("I5", `was at rest, and is no more: ${pods.join("; ")}`);
  if (orphans.length > 0) watched.report("I1", `still there after ${boundMs / 1000} s: ${orphans.join("; ")}`);
  if (known() > 0) watched.report("I10", `${known()} pods are known that are gone`);
}

/** With the rest of the world in order, the back end is away for minutes, while pods wait for it. */
async function recovery(world: World): Promise<void> {
  const { chance, reachability, trace } = world;
  for (let waited = 0; waited < 240 && unrestOf(world).pods.length > 0; waited++) await world.pass(10_000);
  trace.add("back end: away");
  reachability.isUp = false;
  await createPods(world, chance.whole(1, 5));
  if (chance.happens(0.3)) world.kill();
  world.start();
  await world.pass(chance.between(150_000, 280_000));
  trace.add("back end: back");
  reachability.isUp = true;
}
