import { messageOf } from "@virtual-kubelet/errdefs";
import { resources, type Pod } from "@virtual-kubelet/kube-client";
import type { Chance } from "./chance.ts";
import { isLive } from "./instance.ts";
import { stuckLabel } from "./model-provider.ts";
import { nodeName } from "./program.ts";
import { isTerminal } from "./invariants.ts";
import { failsLabel, waitsLabel } from "./rest-state.ts";
import { namespace, secretName, type World } from "./world.ts";

/** Something that happens in a world: to its pods, its node, its program, its network or its back end. */
export type Action = (world: World) => Promise<void> | void;

/** Possible events, with their relative frequencies over all worlds. */
const choices: readonly (readonly [number, Action])[] = [
  [20, (world) => createPods(world, 1)],
  [6, (world) => createPods(world, world.chance.whole(2, 12))],
  [6, (world) => createPod(world, { isBound: false })],
  [2, (world) => createPod(world, { waitsFor: "ProviderUnsupported" })],
  [2, (world) => createPod(world, { waitsFor: "CreateContainerConfigError" })],
  [2, (world) => createPod(world, { isTooLarge: true })],
  [4, createAndDelete],
  [10, editLabels],
  [8, editImage],
  [10, editOften],
  [14, (world) => deletePod(world, undefined)],
  [5, (world) => deletePod(world, world.chance.whole(1, 3))],
  [5, (world) => deletePod(world, 0)],
  [1, deleteAll],
  [8, recreate],
  [3, hold],
  [5, removeFinalizers],
  [6, podExits],
  [5, podCrashes],
  [4, podIsLost],
  [3, overwriteStatus],
  [4, overwritePhase],
  [2, shortenLife],
  [2, (world) => remove(world, "node")],
  [1, (world) => remove(world, "lease")],
  [8, crash],
  [3, stop],
  [2, takeOver],
  [3, addInstance],
  [4, backEndIsAway],
  [4, apiServerIsAway],
  [4, (world) => world.network.cutWatches()],
  [3, expireVersions],
  [1, serverForgets],
];

/** Events of one world, with their frequencies. */
export type Habits = typeof choices;

/** Containers end, and are started again. */
const exits: ReadonlySet<Action> = new Set([podExits, podCrashes]);

/**
 * Draws a world's habits: what is rare in most is common in some, so that it meets itself, and what usually disturbs it is rare.
 *
 * @param exitsTimes - how much more often than elsewhere containers end
 */
export function drawHabits(chance: Chance, exitsTimes: number): Habits {
  return choices.map(([weight, action]) => [weight * chance.pick([0.1, 1, 1, 5]) * (exits.has(action) ? exitsTimes : 1), action]);
}

/** Draws what happens next. */
export function drawAction(chance: Chance, habits: Habits): Action {
  let left = chance.next() * habits.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, action] of habits) if ((left -= weight) < 0) return action;
  return (world) => createPods(world, 1);
}

/** Special properties of a pod to create. */
interface PodWish {
  readonly name?: string;
  /** Default `true`: it is bound to the node at once. */
  readonly isBound?: boolean;
  readonly waitsFor?: "ProviderUnsupported" | "CreateContainerConfigError";
  readonly isTooLarge?: boolean;
  /** Its creation may hang; see `Reachability.isStuck`. */
  readonly isStuck?: boolean;
}

/** Creates so many pods at one time. */
export async function createPods(world: World, count: number): Promise<void> {
  for (let made = 0; made < count; made++) await createPod(world, {});
}

/** Creates a pod. */
export async function createPod(world: World, wish: PodWish): Promise<void> {
  const { chance } = world;
  const { name = world.nextName(), isBound = true, waitsFor } = wish;
  const secret = waitsFor === "CreateContainerConfigError" ? "absent" : secretName;
  const hasSecret = waitsFor !== undefined || chance.happens(0.3);
  const pod: Pod = {
    metadata: {
      name,
      namespace,
      labels: {
        round: "0",
        ...(waitsFor && { [waitsLabel]: waitsFor }),
        ...(wish.isTooLarge && { [failsLabel]: "OutOfcpu" }),
        ...(wish.isStuck && { [stuckLabel]: "true" }),
      },
    },
    spec: {
      ...(isBound && { nodeName }),
      restartPolicy: chance.pick(["Always", "OnFailure", "Never"]),
      terminationGracePeriodSeconds: chance.pick([0, 1, 5, 30, 120]),
      ...sidecars(chance),
      containers: [
        {
          name: "main",
          image: "image:0",
          ...(hasSecret && { env: [{ name: "TOKEN", valueFrom: { secretKeyRef: { name: secret, key: "token" } } }] }),
          ...(waitsFor === "ProviderUnsupported" && { securityContext: { privileged: true } }),
          ...(wish.isTooLarge && { resources: { requests: { cpu: "5000" } } }),
        },
        ...(chance.happens(0.3) ? [{ name: "second", image: "image:0" }] : []),
      ],
    },
  };
  await attempt(world, `create ${name}`, () => world.client.create(resources.pods, pod, { signal: world.users }));
}

/** Init containers and sidecars of a pod. */
function sidecars(chance: Chance): { initContainers?: NonNullable<Pod["spec"]>["initContainers"] } {
  const initContainers = [
    ...(chance.happens(0.15) ? [{ name: "prepare", image: "image:0" }] : []),
    ...(chance.happens(0.3) ? [{ name: "sidecar", image: "image:0", restartPolicy: "Always" }] : []),
  ];
  return initContainers.length > 0 ? { initContainers } : {};
}

async function createAndDelete(world: World): Promise<void> {
  const name = world.nextName();
  await createPod(world, { name });
  await world.pass(world.chance.pick([0, 1, 10, 100]));
  await attempt(world, `delete ${name}`, () => world.client.delete(resources.pods, { namespace, name }, {}, { signal: world.users }));
}

/** A StatefulSet's way: the same name again, as soon as it is free, or at once by force. */
async function recreate(world: World): Promise<void> {
  const pod = pick(world);
  if (!pod) return;
  const name = pod.metadata?.name ?? "";
  const isForced = world.chance.happens(0.6);
  const query = isForced ? { gracePeriodSeconds: 0 } : {};
  await attempt(world, `delete ${name}${isForced ? " by force" : ""} to make it again`, () =>
    world.client.delete(resources.pods, { namespace, name }, query, { signal: world.users }),
  );
  for (let tries = 0; tries < 40 && world.pods.some(({ metadata }) => metadata?.name === name); tries++) await world.pass(250);
  await createPod(world, { name });
}

async function hold(world: World): Promise<void> {
  const pod = pickWanted(world);
  if (pod) await edit(world, pod, "merge", { metadata: { finalizers: ["simulation/held"] } });
}

async function editLabels(world: World, pod: Pod | undefined = pickWanted(world), round: string = editedValue(world)): Promise<void> {
  if (!pod) return;
  await edit(world, pod, "merge", { metadata: { labels: { round } } });
  const { program, clock } = world;
  const ageMs = clock.now() - Date.parse(pod.metadata?.creationTimestamp ?? "");
  const isOurs = program !== undefined && ageMs < clock.monotonic() - world.programSinceMs;
  if (pod.metadata?.uid && isOurs) world.relabelled.set(pod.metadata.uid, program);
}

async function editImage(world: World, pod: Pod | undefined = pickWanted(world), tag: string = editedValue(world)): Promise<void> {
  const containers = pod?.spec?.containers ?? [];
  if (!pod || containers.length === 0) return;
  const { name } = world.chance.pick(containers);
  await edit(world, pod, "strategic", { spec: { containers: [{ name, image: `image:${tag}` }] } });
}

/** One pod is edited again and again, to and fro: one edit catches up with another, or takes it back. */
async function editOften(world: World): Promise<void> {
  const { chance } = world;
  const pod = pickWanted(world);
  const change = chance.pick([editLabels, editImage]);
  const values = [editedValue(world), editedValue(world)];
  for (let edits = chance.whole(3, 12); edits > 0; edits--) {
    await change(world, pod, chance.pick(values));
    await world.pass(chance.pick([0, 20, 500, 2_000, 15_000]));
  }
}

async function edit(world: World, { metadata }: Pod, type: "merge" | "strategic", body: object): Promise<void> {
  const name = metadata?.name ?? "";
  await attempt(world, `edit ${name} ${JSON.stringify(body)}`, () =>
    world.client.patch(resources.pods, { namespace, name }, { type, body }, { signal: world.users }),
  );
}

/** One of few: changes that are taken back are among the hardest. */
function editedValue({ chance }: World): string {
  return String(chance.whole(0, 3));
}

async function deletePod(world: World, gracePeriodSeconds: number | undefined): Promise<void> {
  const name = pick(world)?.metadata?.name;
  if (name !== undefined) await deleteNamed(world, name, gracePeriodSeconds);
}

/** Deletes the pod of that name. */
export async function deleteNamed(world: World, name: string, gracePeriodSeconds: number | undefined): Promise<void> {
  const query = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
  await attempt(world, `delete ${name} ${JSON.stringify(query)}`, () =>
    world.client.delete(resources.pods, { namespace, name }, query, { signal: world.users }),
  );
}

/** Deletes every pod there is. */
export async function deleteAll(world: World): Promise<void> {
  for (const { metadata } of world.pods) {
    const name = metadata?.name ?? "";
    await attempt(world, `delete ${name}`, () => world.client.delete(resources.pods, { namespace, name }, {}, { signal: world.users }));
  }
}

async function removeFinalizers(world: World): Promise<void> {
  const name = pick(world, ({ metadata }) => (metadata?.finalizers?.length ?? 0) > 0)?.metadata?.name;
  if (name === undefined) return;
  const body = { metadata: { finalizers: null } };
  await attempt(world, `let go of ${name}`, () =>
    world.client.patch(resources.pods, { namespace, name }, { type: "merge", body }, { signal: world.users }),
  );
}

function podExits(world: World): void {
  const instances = world.backEnd.list().filter(({ state }) => state.kind === "running");
  if (instances.length === 0) return;
  const { ref, containers } = world.chance.pick(instances);
  const running = containers.filter(({ state }) => state.kind === "running");
  if (running.length > 0) world.backEnd.exit(ref.uid, world.chance.pick([0, 1]), world.chance.pick(running).name);
}

/**
 * All containers of a pod exit again and again. It is deleted meanwhile, between two runs or just after its containers run again;
 * or the program is killed, and hears of one run after another while it asks what there is.
 */
async function podCrashes(world: World): Promise<void> {
  const { chance, backEnd } = world;
  const instances = backEnd.list().filter(({ state, restartPolicy }) => state.kind === "running" && restartPolicy !== "Never");
  if (instances.length === 0) return;
  const { ref, containers } = chance.pick(instances);
  const crash = (): void => {
    for (const { name, role } of containers) if (role === "main" || chance.happens(0.2)) backEnd.exit(ref.uid, 1, name);
  };
  const runs = (): boolean =>
    backEnd.of(ref.uid).every((each) => each.containers.every(({ role, state }) => role === "init" || state.kind === "running"));
  const end = chance.pick(["between two runs", "when it runs again", "not", "with the program"]);
  for (let rounds = chance.whole(0, 2); rounds > 0; rounds--) {
    crash();
    await world.pass(chance.pick([2_000, 6_000, 25_000]));
  }
  if (end === "with the program") {
    world.kill();
    world.start();
    for (let rounds = 10; rounds > 0; rounds--) {
      await world.pass(chance.pick([100, 500, 1_000]));
      crash();
    }
  }
  if (end === "not" || end === "with the program") return;
  crash();
  await world.pass(chance.pick([500, 6_000]));
  for (let waited = 0; end === "when it runs again" && waited < 80 && !runs(); waited++) await world.pass(250);
  await deleteNamed(world, ref.name, undefined);
}

function podIsLost(world: World): void {
  const instances = world.backEnd.list().filter(isLive);
  if (instances.length > 0) world.lose(world.chance.pick(instances).ref.uid, world.chance.happens(0.3));
}

/** Marks a pod not ready, as the node life-cycle controller does on an unresponsive node. */
async function overwriteStatus(world: World): Promise<void> {
  const name = pick(world, ({ status }) => status?.phase === "Running")?.metadata?.name;
  if (name === undefined) return;
  const body = { status: { conditions: [{ type: "Ready", status: "False" }] } };
  await attempt(world, `mark ${name} not ready`, () =>
    world.client.patch(resources.pods, { namespace, name }, { type: "strategic", body }, { signal: world.users, subresource: "status" }),
  );
}

/** Sets the pod's phase to a final one, as evictions, taints and controllers do. */
async function overwritePhase(world: World): Promise<void> {
  const pod = pick(world, ({ spec, status }) => spec?.nodeName !== undefined && !isTerminal(status?.phase));
  const { name, uid } = pod?.metadata ?? {};
  if (name === undefined || uid === undefined) return;
  const status = { phase: world.chance.pick(["Failed", "Failed", "Succeeded"]), reason: "Evicted", message: "somebody else ended it" };
  await attempt(world, `end ${name} as ${status.phase}`, async () => {
    const body = { metadata: { uid }, status };
    const options = { signal: world.users, subresource: "status" } as const;
    await world.client.patch(resources.pods, { namespace, name }, { type: "strategic", body }, options);
    world.invariants.onOverwritten(uid);
  });
}

/** A deadline is set for a pod that may already have passed it. */
async function shortenLife(world: World): Promise<void> {
  const pod = pickWanted(world);
  if (pod) await edit(world, pod, "merge", { spec: { activeDeadlineSeconds: world.chance.pick([1, 30, 300]) } });
}

async function remove(world: World, what: "node" | "lease"): Promise<void> {
  await attempt(world, `delete the ${what}`, () =>
    what === "node"
      ? world.client.delete(resources.nodes, { name: nodeName }, {}, { signal: world.users })
      : world.client.delete(resources.leases, { namespace: "kube-node-lease", name: nodeName }, {}, { signal: world.users }),
  );
}

async function crash(world: World): Promise<void> {
  world.kill();
  await world.pass(world.chance.pick([0, 1_000, 10_000, 70_000]));
  world.start();
}

async function stop(world: World): Promise<void> {
  await world.stop();
  await world.pass(world.chance.pick([0, 1_000, 10_000]));
  world.start();
}

/** The node's instance dies, and one with another identity takes its place. */
async function takeOver(world: World): Promise<void> {
  world.kill();
  await world.pass(world.chance.pick([0, 1_000, 60_000]));
  world.start(true);
  await world.pass(60_000);
}

/** Another instance comes while the first is alive: a copy of it, one that stands by, or one that has to give up. */
async function addInstance(world: World): Promise<void> {
  const { chance, profile } = world;
  // Two at once are safe only where the back end knows a pod's instance by a token.
  const isCopy = profile.isIdempotent && chance.happens(0.4);
  world.startRival({ isCopy, isStandby: !isCopy && chance.happens(0.5) });
  await world.pass(chance.pick([0, 5_000, 30_000]));
}

/**
 * The API server answers as if pods were not there that are, as after a restore from an old backup. They are more than the
 * brake lets go.
 */
async function serverForgets(world: World): Promise<void> {
  const { chance, backEnd, network, profile, reachability, trace } = world;
  const running = (): string[] =>
    world.pods.flatMap((pod) => {
      const uid = pod.metadata?.uid ?? "";
      const runs = pod.status?.phase === "Running" && backEnd.of(uid).some(({ state }) => state.kind === "running");
      return runs && world.invariants.isWanted(pod) && pod.spec?.activeDeadlineSeconds === undefined ? [uid] : [];
    });
  const missing = 14 - running().length;
  if (missing > 0) {
    await createPods(world, missing);
    await world.pass(40_000);
  }
  const uids = running();
  if (uids.length <= 12) return;
  // The brake can only count what the program knows: after an earlier hiding it has to list the pods first.
  const bound = world.pods.filter(({ spec }) => spec?.nodeName !== undefined).length;
  if ((world.program?.node.health.knownPods ?? 0) < bound) return;
  const hidden = uids.slice(0, chance.whole(12, uids.length));
  trace.add("API server: does not show", hidden.length, "pods");
  network.hide(new Set(hidden));
  // A program that is started now knows the pods from the back end's lists alone: these may not lack them as well.
  if (profile.provider.listGaps === 0 && chance.happens(0.4)) {
    world.kill();
    await world.pass(1_000);
    if (profile.startsWithPartialList) reachability.partialLists = 1;
    world.start();
  }
  await world.pass(chance.pick([20_000, 120_000, 400_000]));
  reachability.partialLists = 0;
  trace.add("API server: shows all pods");
  network.hide(new Set());
}

async function backEndIsAway(world: World): Promise<void> {
  const seconds = world.chance.pick([5, 30, 120]);
  world.trace.add("back end: away for", seconds, "s");
  world.reachability.isUp = false;
  await world.pass(seconds * 1000);
  world.trace.add("back end: back");
  world.reachability.isUp = true;
}

async function apiServerIsAway(world: World): Promise<void> {
  const seconds = world.chance.pick([2, 20, 90]);
  world.trace.add("API server: away for", seconds, "s");
  world.network.goDown();
  await world.pass(seconds * 1000);
  world.trace.add("API server: back");
  world.network.comeUp(world.chance.happens(0.5));
}

function expireVersions(world: World): void {
  world.network.expireVersions();
  world.network.cutWatches();
}

/** A pod that nobody has deleted; most often one that runs. */
function pickWanted(world: World): Pod | undefined {
  const isWanted = ({ metadata }: Pod): boolean => !metadata?.deletionTimestamp;
  const running = world.chance.happens(0.8) ? pick(world, (pod) => isWanted(pod) && pod.status?.phase === "Running") : undefined;
  return running ?? pick(world, isWanted);
}

function pick(world: World, where: (pod: Pod) => boolean = () => true): Pod | undefined {
  const pods = world.pods.filter((pod) => where(pod));
  return pods.length > 0 ? world.chance.pick(pods) : undefined;
}

/** Does what a user does; a user copes with a refusal. */
async function attempt(world: World, what: string, act: () => Promise<unknown>): Promise<void> {
  world.trace.add("user:", what);
  await act().catch((error: unknown) => world.trace.add("user: refused:", messageOf(error)));
}
