import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Api } from "./api.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** A definition of custom resources, whose objects are served. Disposing deletes it. */
export interface Definition extends AsyncDisposable {
  readonly apiVersion: string;
  readonly kind: string;
  /** Path of the objects in the test's namespace. */
  readonly path: string;
  /** Changes properties of `spec` in the schema, and waits until the change is in effect. */
  change(properties: Readonly<Record<string, object>>): Promise<void>;
}

/** Creates a definition with one version `v1`, and waits until it is served. @param version - fields of the version */
export async function establishDefinition(
  api: Api,
  { namespace, schema, ...version }: { readonly namespace: string; readonly schema: object; readonly [field: string]: unknown },
): Promise<Definition> {
  const group = `${namespace}.example.com`;
  const name = `things.${group}`;
  await api.create(crds, {
    metadata: { name },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "things", kind: "Thing" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema }, ...version }],
    },
  });
  const path = `/apis/${group}/v1/namespaces/${namespace}/things`;
  await eventually(async () => expect((await api.get(path)).status).toBe(200), { timeoutMs: 30_000 });
  return {
    apiVersion: `${group}/v1`,
    kind: "Thing",
    path,
    async change(properties) {
      const specSchema = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
      const replace = Object.entries(properties).map(([field, value]) => ({ op: "replace", path: `${specSchema}/${field}`, value }));
      const { status, body } = await api.patch("json", `${crds}/${name}`, replace);
      if (status !== 200) throw new Error(`change the definition ${name}: ${String(status)} ${JSON.stringify(body)}`);
      const document = `/openapi/v3/apis/${group}/v1`;
      await eventually(
        async () => {
          const served = (await api.get(document)).body.components.schemas;
          const spec = Object.entries(served).find(([key]) => key.endsWith(".Thing"))?.[1] as {
            properties: { spec: { properties: object } };
          };
          expect(spec.properties.spec.properties).toMatchObject(properties);
        },
        { timeoutMs: 30_000 },
      );
    },
    async [Symbol.asyncDispose]() {
      await api.delete(`${crds}/${name}`);
    },
  };
}
