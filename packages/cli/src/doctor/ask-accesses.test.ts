import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { neededAccess, type NeededAccess } from "../manifests/access-rights.ts";
import { askAccesses } from "./ask-accesses.ts";
import { allows, type AccessRule } from "./rules-review.ts";

const idle = new AbortController().signal;
const names = Array.from({ length: 1_000 }, (_, index) => `vk-${index}`);

/** Every access that a program with nodes of these names needs; 7 of them are asked about for each node. */
const needed = (nodeNames: readonly string[]): NeededAccess[] =>
  neededAccess({ nodes: nodeNames.map((name) => ({ name, onShutdown: "keep" })), readsClusterId: true });

/** The rules of the printed role for nodes of these names. */
const printed = (nodeNames: readonly string[]): AccessRule[] =>
  needed(nodeNames).map(({ verb, group, resource, subresource, name }) => ({
    verbs: [verb],
    apiGroups: [group],
    resources: [subresource === undefined ? resource : `${resource}/${subresource}`],
    ...(name !== undefined && { resourceNames: [name] }),
  }));

test("what is allowed for all objects is not asked about for each of a thousand nodes", async () => {
  const server = new Authorizer([{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }]);

  expect(await server.denied(needed(names))).toEqual([]);

  expect([server.rulesReviews, server.accessReviews]).toEqual([0, needed(["vk"]).length]);
});

test("with rights for each node by its name, the rules are read once for the cluster and once for the Leases", async () => {
  const server = new Authorizer(printed(names));

  expect(await server.denied(needed(names))).toEqual([]);

  expect([server.rulesReviews, server.accessReviews]).toEqual([2, needed(["vk"]).length]);
  expect(server.namespaces).toEqual(["no.namespace", "kube-node-lease"]);
});

test("a node that the role lacks is denied, for the reason of its review", async () => {
  const server = new Authorizer(printed(names.slice(0, -2)));

  const denied = await server.denied(needed(names).filter(({ resource }) => resource === "leases"));

  expect(denied).toEqual([
    "get leases vk-998: no role",
    "get leases vk-999: no role",
    "update leases vk-998: no role",
    "update leases vk-999: no role",
  ]);
  // One for create, and of get and update one for all objects and one for the first that is denied.
  expect([server.rulesReviews, server.accessReviews]).toEqual([1, 5]);
});

test.each([
  [
    "does not tell all of the rules",
    { status: { incomplete: true, resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }] } },
  ],
  ["does not know such reviews", new Error("404")],
])("each object is asked about, a few at a time, if the API server %s", async (_, rulesAnswer) => {
  const server = new Authorizer(printed(names.slice(1)), rulesAnswer);
  const questions = needed(names).filter(({ resource, verb }) => resource === "leases" && verb === "get");

  expect(await server.denied(questions)).toEqual(["get leases vk-0: no role"]);

  expect([server.rulesReviews, server.accessReviews, server.mostAtOnce]).toEqual([1, 1_001, 8]);
});

test.each([
  ["no question about all objects at once", (name: string | undefined) => name === undefined, ["get leases vk-999: no role"], 1_002],
  ["no question", () => true, names.map((name) => `get leases ${name}: away`), 2],
])("an API server that answers %s", async (_, fails, denied, reviews) => {
  const server = new Authorizer(printed(names.slice(0, -1)), new Error("404"), fails);
  const questions = needed(names).filter(({ resource, verb }) => resource === "leases" && verb === "get");

  expect(await server.denied(questions)).toEqual(denied);

  expect(server.accessReviews).toBe(reviews);
});

test("each of a few objects is asked about at once", async () => {
  const server = new Authorizer(printed(names));
  const questions = needed(names.slice(0, 8));

  expect(await server.denied(questions)).toEqual([]);

  expect([server.rulesReviews, server.accessReviews]).toEqual([0, questions.length]);
});

test("rules count as the API server's authorizer counts them", () => {
  const access = { verb: "patch", group: "", resource: "nodes", subresource: "status", name: "vk" };
  const rule = { verbs: ["patch"], apiGroups: [""], resources: ["nodes/status"] };

  expect([
    allows(rule, access),
    allows({ ...rule, resources: ["*/status"], resourceNames: ["a", "vk"] }, access),
    allows({ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }, access),
  ]).toEqual([true, true, true]);
  expect([
    allows({ ...rule, verbs: ["get"] }, access),
    allows({ ...rule, apiGroups: ["apps"] }, access),
    allows({ ...rule, resources: ["nodes", "pods/status"] }, access),
    allows({ ...rule, resourceNames: ["a"] }, access),
    allows({ ...rule, resourceNames: ["vk"] }, { ...access, name: undefined }),
    allows({ verbs: ["patch"] }, access),
  ]).toEqual([false, false, false, false, false, false]);
});

/** An API server that answers reviews by rules, those of access in a later turn of the event loop. */
class Authorizer {
  accessReviews = 0;
  /** Namespaces of the reviews of rules. */
  readonly namespaces: unknown[] = [];
  mostAtOnce = 0;
  #atOnce = 0;
  readonly #rules: readonly AccessRule[];
  readonly #rulesAnswer: unknown;
  readonly #fails: (name: string | undefined) => boolean;

  /**
   * @param rulesAnswer - answer of a review of rules, or the error that it fails with; default: all rules
   * @param fails - whether a review of access to an object fails; default: never
   */
  constructor(
    rules: readonly AccessRule[],
    rulesAnswer: unknown = { status: { incomplete: false, resourceRules: rules } },
    fails: (name: string | undefined) => boolean = () => false,
  ) {
    this.#rules = rules;
    this.#rulesAnswer = rulesAnswer;
    this.#fails = fails;
  }

  get rulesReviews(): number {
    return this.namespaces.length;
  }

  /** Asks about accesses. @returns those that are not allowed, and why */
  async denied(questions: readonly NeededAccess[]): Promise<string[]> {
    const client = { raw: (_method: string, path: string, body: unknown) => this.#answer(path, body as ReviewBody) };
    const answers = await askAccesses(questions, { client, clock: new VirtualClock() }, idle);
    expect(answers.map(({ question }) => question)).toEqual(questions);
    return answers
      .filter(({ outcome }) => outcome !== "allowed")
      .map(({ question: { verb, resource, name }, reason }) => `${verb} ${resource} ${name}: ${reason}`);
  }

  async #answer(path: string, { spec }: ReviewBody): Promise<unknown> {
    if (path.endsWith("/selfsubjectrulesreviews")) {
      this.namespaces.push(spec.namespace);
      if (this.#rulesAnswer instanceof Error) throw this.#rulesAnswer;
      return this.#rulesAnswer;
    }
    this.accessReviews++;
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#atOnce);
    await new Promise(setImmediate);
    this.#atOnce--;
    const { resourceAttributes } = spec;
    if (this.#fails(resourceAttributes?.name)) throw new Error("away");
    const allowed = resourceAttributes !== undefined && this.#rules.some((rule) => allows(rule, resourceAttributes));
    return { status: { allowed, reason: allowed ? "" : "no role" } };
  }
}

interface ReviewBody {
  readonly spec: { readonly namespace?: string; readonly resourceAttributes?: NeededAccess };
}
