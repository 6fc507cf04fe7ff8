import { randomBytes } from "node:crypto";
import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Api } from "./api.ts";

const registration = "/apis/admissionregistration.k8s.io/v1";
/** URL of the policies. */
export const policies: string = `${registration}/mutatingadmissionpolicies`;
const bindings = `${registration}/mutatingadmissionpolicybindings`;

/** A policy, and what its binding has besides the name. */
export interface PolicyCase {
  /** Expressions of apply configurations and, if they start with a bracket, of JSON patches. */
  readonly mutations: readonly string[];
  /** Further fields of the policy's spec. */
  readonly spec?: object;
  /** Further fields of the binding's spec. */
  readonly binding?: object;
  /** Label `case` of the objects that the policy applies to; default: its key. */
  readonly case?: string;
}

/** Spec of a policy for all resources of a namespace. */
export function policySpec(namespace: string, mutations: readonly string[], own: object = {}): object {
  return {
    reinvocationPolicy: "Never",
    matchConstraints: {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
      resourceRules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["CREATE", "UPDATE", "CONNECT"], resources: ["*/*"] }],
    },
    mutations: mutations.map((expression) =>
      expression.startsWith("[")
        ? { patchType: "JSONPatch", jsonPatch: { expression } }
        : { patchType: "ApplyConfiguration", applyConfiguration: { expression } },
    ),
    ...own,
  };
}

const probing: PolicyCase = { mutations: [`Object{metadata: Object.metadata{annotations: {"probed": "yes"}}}`] };

/** Policies of one test and their bindings, each for the objects of its label. They are removed at the end. */
export class MutatingPolicies implements AsyncDisposable {
  readonly #api: Api;
  readonly #names: readonly string[];

  private constructor(api: Api, names: readonly string[]) {
    this.#api = api;
    this.#names = names;
  }

  /** Creates policies, and waits until they are in effect. */
  static async create(api: Api, namespace: string, cases: Readonly<Record<string, PolicyCase>>): Promise<MutatingPolicies> {
    // The real server takes over all policies at once, so the last one is in effect when all are. Deleted ones stay in effect for a second.
    const probe = `probe-${randomBytes(4).toString("hex")}`;
    const all: [string, PolicyCase][] = Object.entries({ ...cases, [probe]: probing });
    for (const [key, { mutations, spec }] of all)
      await api.create(policies, { metadata: { name: `${key}.${namespace}` }, spec: policySpec(namespace, mutations, spec) });
    for (const [key, { binding, case: label = key }] of all) {
      const matchResources = { objectSelector: { matchLabels: { case: label } } };
      const name = `${key}.${namespace}`;
      await api.create(bindings, { metadata: { name }, spec: { policyName: name, matchResources, ...binding } });
    }
    const probed = { metadata: { name: "probe", labels: { case: probe } } };
    await eventually(
      async () => {
        const { body } = await api.post(`/api/v1/namespaces/${namespace}/configmaps?dryRun=All`, probed);
        expect(body.metadata.annotations).toEqual({ probed: "yes" });
      },
      { timeoutMs: 60_000 },
    );
    return new MutatingPolicies(
      api,
      all.map(([key]) => `${key}.${namespace}`),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of this.#names) {
      await this.#api.delete(`${bindings}/${name}`);
      await this.#api.delete(`${policies}/${name}`);
    }
  }
}
