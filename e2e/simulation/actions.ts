import { messageOf } from "@virtual-kubelet/errdefs";
import { resources, type Pod } from "@virtual-kubelet/kube-client";
import { isLive } from "./back-end.ts";
import type { Chance } from "./chance.ts";
import { nodeName } from "./program.ts";
import { failsLabel, waitsLabel } from "./rest-state.ts";
import { namespace, secretName, type World } from "./world.ts";

/** Something that happens in a world: to its pods, its node, its program, its network or its back end. */
export type Action = (world: World) => Promise<void> | void;

/** What can happen, and how often it does relative to the rest, over all worlds. */
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
  [4, podIsLost],
  [3, overwriteStatus],
  [2, (world) => remove(world, "node")],
  [1, (world) => remove(world, "lease")],
  [8, crash],
  [3, stop],
  [4, backEndIsAway],
  [4, apiServerIsAway],
  [4, (world) => world.network.cutWatches()],
  [3, expireVersions],
];

/** What happens in one world, and how often. */
export type Habits = typeof choices;

/** Draws a world's habits: what is rare in most is common in some, so that it meets itself, and what usually disturbs it is rare. */
export function drawHabits(chance: Chance): Habits {
  return choices.map(([weight, action]) => [weight * chance.pick([0.1, 1, 1, 5]), action]);
}

/** Draws what happens next. */
export function drawAction(chance: Chance, habits: Habits): Action {
  let left = chance.next() * habits.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, action] of habits) if ((left -= weight) < 0) return action;
  return (world) => createPods(world, 1);
}

/** What is special about a pod to create. */
interface PodWish {
  readonly name?: string;
  /** Default `true`: it is bound to the node at once. */
  readonly isBound?: boolean;
  readonly waitsFor?: "ProviderUnsupported" | "CreateContainerConfigError";
  readonly isTooLarge?: boolean;
}

/** Creates so many pods at one time. */
export async function createPods(world: World, count: number): Promise<void> {
  for (let made = 0; made < count; made++) await createPod(world, {});
}

async function createPod(world: World, wish: PodWish): Promise<void> {
  const { chance } = world;
  const { name = world.nextName(), isBound = true, waitsFor } = wish;
  const secret = waitsFor === "CreateContainerConfigError" ? "absent" : secretName;
  const hasSecret = waitsFor !== undefined || chance.happens(0.3);
  const pod: Pod = {
    metadata: {
      name,
      namespace,
      labels: { round: "0", ...(waitsFor && { [waitsLabel]: waitsFor }), ...(wish.isTooLarge && { [failsLabel]: "OutOfcpu" }) },
    },
    spec: {
      ...(isBound && { nodeName }),
      restartPolicy: chance.pick(["Always", "OnFailure", "Never"]),
      terminationGracePeriodSeconds: chance.pick([0, 1, 5, 30, 120]),
      containers: [
        {
          name: "main",
          image: "image:0",
          ...(hasSecret && { env: [{ name: "TOKEN", valueFrom: { secretKeyRef: { name: secret, key: "token" } } }] }),
          ...(waitsFor === "ProviderUnsupported" && { securityContext: { privileged: true } }),
          ...(wish.isTooLarge && { resources: { requests: { cpu: "5000" } } }),
        },
      ],
    },
  };
  await attempt(world, `create ${name}`, () => world.client.create(resources.pods, pod, { signal: world.users }));
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
  const isOurs = program !== undefined && ageMs < clock.monotonic() - program.startedMs;
  if (pod.metadata?.uid && isOurs) world.relabelled.set(pod.metadata.uid, program);
}

async function editImage(world: World, pod: Pod | undefined = pickWanted(world), tag: string = editedValue(world)): Promise<void> {
  if (pod) await edit(world, pod, "strategic", { spec: { containers: [{ name: "main", image: `image:${tag}` }] } });
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
  if (name === undefined) return;
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
  if (instances.length > 0) world.backEnd.exit(world.chance.pick(instances).ref.uid, world.chance.pick([0, 1]));
}

function podIsLost(world: World): void {
  const instances = world.backEnd.list().filter(isLive);
  if (instances.length > 0) world.lose(world.chance.pick(instances).ref.uid, world.chance.happens(0.3));
}

/** What the node life-cycle controller does to the pods of a node it has not heard of. */
async function overwriteStatus(world: World): Promise<void> {
  const name = pick(world, ({ status }) => status?.phase === "Running")?.metadata?.name;
  if (name === undefined) return;
  const body = { status: { conditions: [{ type: "Ready", status: "False" }] } };
  await attempt(world, `mark ${name} not ready`, () =>
    world.client.patch(resources.pods, { namespace, name }, { type: "strategic", body }, { signal: world.users, subresource: "status" }),
  );
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
