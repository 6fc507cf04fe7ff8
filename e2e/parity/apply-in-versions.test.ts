import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Answer, Api } from "./support/api.ts";
import { test } from "./support/parity-test.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const size = { type: "integer" };
const oldSpec = { size };

function version(name: string, spec: object, fields: object): object {
  const status = { type: "object", properties: { seen: size }, ...(name === "v1" ? { default: { seen: -1 } } : {}) };
  const openAPIV3Schema = { type: "object", properties: { spec: { type: "object", properties: spec }, status } };
  return { name, served: true, subresources: { status: {} }, schema: { openAPIV3Schema }, ...fields };
}

/** A kind whose version `v1` has a field `policy` that `v1beta1` does not have. */
class TwoVersions implements AsyncDisposable {
  readonly #api: Api;
  readonly #group: string;
  readonly #namespace: string;

  private constructor(api: Api, namespace: string) {
    this.#api = api;
    this.#namespace = namespace;
    this.#group = `${namespace}.example.com`;
  }

  static async create(api: Api, namespace: string, policy: object): Promise<TwoVersions> {
    const kind = new TwoVersions(api, namespace);
    await api.create(crds, {
      metadata: { name: `things.${kind.#group}` },
      spec: {
        group: kind.#group,
        scope: "Namespaced",
        names: { plural: "things", kind: "Thing" },
        versions: [version("v1", { ...oldSpec, policy }, { storage: true }), version("v1beta1", oldSpec, { storage: false })],
      },
    });
    for (const name of ["v1", "v1beta1"])
      await eventually(async () => expect((await api.get(kind.path(name))).status).toBe(200), { timeoutMs: 30_000 });
    return kind;
  }

  path(name: string): string {
    return `/apis/${this.#group}/${name}/namespaces/${this.#namespace}/things`;
  }

  object(name: string, spec: object): object {
    return { apiVersion: `${this.#group}/${name}`, kind: "Thing", metadata: { name: "a" }, spec };
  }

  async apply(name: string, manager: string, spec: object): Promise<unknown> {
    return outcome(await this.#api.apply(`${this.path(name)}/a`, `${manager}&force=true`, this.object(name, spec)));
  }

  /** Stops serving the second version, and waits until it is gone. */
  async stopServing(name: string): Promise<void> {
    const patch = [{ op: "replace", path: "/spec/versions/1/served", value: false }];
    await this.#api.patch("json", `${crds}/things.${this.#group}`, patch);
    await eventually(async () => expect((await this.#api.get(this.path(name))).status).toBe(404), { timeoutMs: 30_000 });
    await eventually(async () => expect((await this.#api.get(this.path("v1"))).status).toBe(200), { timeoutMs: 30_000 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#api.delete(`${crds}/things.${this.#group}`);
  }
}

function outcome({ status, body }: Answer): unknown {
  return status < 300 ? body.spec : [status, body.message];
}

test("a configuration is refused if a manager has fields in a version that lacks a field of the object", async ({ api, namespace }) => {
  await using kind = await TwoVersions.create(api, namespace, { type: "string", default: "x" });

  expect(await kind.apply("v1beta1", "old", { size: 1 })).toEqual({ size: 1 });
  expect(await kind.apply("v1", "new", { size: 2 })).toEqual([500, ".spec.policy: field not declared in schema"]);
});

test("a configuration is refused if it adds a field that the version of a manager lacks", async ({ api, namespace }) => {
  await using kind = await TwoVersions.create(api, namespace, { type: "string" });
  const undeclared = ".spec.policy: field not declared in schema";

  expect(await kind.apply("v1beta1", "old", { size: 1 })).toEqual({ size: 1 });
  expect(await kind.apply("v1", "new", { policy: "y" })).toEqual([500, `failed to convert new object: ${undeclared}`]);
  expect(await kind.apply("v1", "old", { policy: "y" })).toEqual([
    500,
    `failed to prune fields: failed to convert merged object to last applied version: ${undeclared}`,
  ]);
  expect(await kind.apply("v1", "old", { size: 2 })).toEqual({ size: 2 });
  expect(await kind.apply("v1", "new", { policy: "y" })).toEqual({ size: 2, policy: "y" });
});

test("a manager of a version that is no longer served still has its fields in it", async ({ api, namespace }) => {
  await using kind = await TwoVersions.create(api, namespace, { type: "string" });
  await kind.apply("v1beta1", "old", { size: 1 });

  await kind.stopServing("v1beta1");

  expect(await kind.apply("v1", "new", { policy: "y" })).toEqual([
    500,
    "failed to convert new object: .spec.policy: field not declared in schema",
  ]);
});

test("another write of a field that the version of a manager lacks leaves no managers", async ({ api, namespace }) => {
  await using kind = await TwoVersions.create(api, namespace, { type: "string" });
  await kind.apply("v1beta1", "old", { size: 1 });

  const { body } = await api.patch("merge", `${kind.path("v1")}/a`, { spec: { policy: "z" } });

  expect([body.spec, body.metadata.managedFields]).toEqual([{ size: 1, policy: "z" }, undefined]);
});

test("a dry run has the defaults of the status, as what is stored", async ({ api, namespace }) => {
  await using kind = await TwoVersions.create(api, namespace, { type: "string" });
  const create = (query: string): Promise<Answer> => api.post(kind.path("v1") + query, kind.object("v1", { size: 1 }));

  for (const query of ["?dryRun=All", ""]) expect((await create(query)).body.status, query).toEqual({ seen: -1 });
});
