import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { startWebhookServer, type ReviewHandler } from "../../packages/embedded-apiserver/src/test-support/webhook-server.ts";
import type { Answer, Api } from "./support/api.ts";
import { test } from "./support/parity-test.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** v1 has `spec.size`, v2 has `spec.length`. */
const convert: ReviewHandler = ({ apiVersion, request }) => ({
  apiVersion,
  kind: "ConversionReview",
  response: {
    uid: request.uid,
    result: { status: "Success" },
    convertedObjects: request.objects.map(
      ({ spec = {}, metadata, ...rest }: { spec?: { size?: number; length?: number }; metadata: object }) => ({
        ...rest,
        // Only labels and annotations may be changed.
        metadata: { ...metadata, labels: { converted: "yes" }, generation: 99 },
        apiVersion: request.desiredAPIVersion,
        spec: request.desiredAPIVersion.endsWith("v2") ? { length: spec.size } : { size: spec.length },
      }),
    ),
  },
});

function definition(group: string, clientConfig: object, conversion: object = {}): object {
  const version = (name: string): object => ({
    name,
    served: true,
    storage: name === "v1",
    schema: {
      openAPIV3Schema: { type: "object", properties: { spec: { type: "object", "x-kubernetes-preserve-unknown-fields": true } } },
    },
  });
  return {
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: "Cluster",
      names: { plural: "widgets", kind: "Widget" },
      versions: [version("v1"), version("v2")],
      conversion: { strategy: "Webhook", webhook: { clientConfig, conversionReviewVersions: ["v1"], ...conversion } },
    },
  };
}

async function serve(api: Api, group: string, body: object): Promise<AsyncDisposable> {
  await api.create(crds, body);
  for (const version of ["v1", "v2"])
    await eventually(async () => expect((await api.get(`/apis/${group}/${version}/widgets`)).status).toBe(200), { timeoutMs: 30_000 });
  return { [Symbol.asyncDispose]: async () => void (await api.delete(`${crds}/widgets.${group}`)) };
}

const widget = (group: string, version: string, spec: object): object => ({
  apiVersion: `${group}/${version}`,
  kind: "Widget",
  metadata: { name: "a" },
  spec,
});

test("objects are converted in reads, lists, writes and watches", async ({ api, namespace }) => {
  const group = `${namespace}.example.com`;
  await using hooks = await startWebhookServer({ "/": convert });
  await using _served = await serve(api, group, definition(group, hooks.clientConfig("/")));
  const created = await api.post(`/apis/${group}/v2/widgets`, widget(group, "v2", { length: 1 }));
  const stored = await api.get(`/apis/${group}/v1/widgets/a`);
  const list = await api.get(`/apis/${group}/v2/widgets`);
  using watch = await api.watch(`/apis/${group}/v2/widgets?resourceVersion=${list.body.metadata.resourceVersion}`);
  const patched = await api.patch("merge", `/apis/${group}/v2/widgets/a`, { spec: { length: 2 } });
  await api.delete(`/apis/${group}/v1/widgets/a`);
  expect([created, stored, list.body.items, patched, await watch.take(2)]).toMatchSnapshot();
});

test.for([
  ["a failure", { result: { status: "Failure", message: "cannot" } }],
  ["too few objects", { convertedObjects: [] }],
  ["another uid", { uid: "other" }],
] as const)("an answer with %s", async ([, more], { api, namespace }) => {
  const group = `${namespace}.example.com`;
  await using hooks = await startWebhookServer({
    "/": (review) => {
      const answer = convert(review);
      return { ...answer, response: { ...answer.response, ...more } };
    },
  });
  await using _served = await serve(api, group, definition(group, hooks.clientConfig("/")));
  expect(await api.post(`/apis/${group}/v2/widgets`, widget(group, "v2", { length: 1 }))).toMatchSnapshot();
});

test("conversions that cannot work are refused", async ({ api, namespace }) => {
  const group = `${namespace}.example.com`;
  const answers = [
    await api.post(crds, definition(group, {})),
    await api.post(crds, definition(group, { url: "http://127.0.0.1/" })),
    await api.post(crds, definition(group, { url: "https://127.0.0.1/" }, { conversionReviewVersions: ["v3"] })),
  ];
  expect(answers).toMatchSnapshot();
});

type Converted = Readonly<Record<string, unknown>> & { readonly metadata: Readonly<Record<string, unknown>> };

/** Changes to a converted object, which the converter then returns. */
const lies: Readonly<Record<string, (object: Converted) => unknown>> = {
  "no kind": ({ kind: _kind, metadata: _metadata, ...rest }) => rest,
  "another kind": (object) => ({ ...object, kind: "Gadget" }),
  "no version": ({ apiVersion: _version, ...rest }) => rest,
  "an empty object": () => ({}),
  "an annotation with a wrong name": ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, annotations: { "a b": "c" } } }),
  "a label with a wrong name": ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, labels: { "a b": "c d" } } }),
  "a label that is a number": ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, labels: { a: 1 } } }),
  "a label that is null": ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, labels: { a: null } } }),
  "labels that are a list": ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, labels: [] } }),
  "a field that the schema does not have": (object) => ({ ...object, top: 1 }),
};

test("converted objects are checked and cut to the schema, also in dry runs", async ({ api, namespace }) => {
  const group = `${namespace}.example.com`;
  let lie = (object: Converted): unknown => object;
  await using hooks = await startWebhookServer({
    "/": (review) => {
      const answer = convert(review);
      return { ...answer, response: { ...answer.response, convertedObjects: answer.response.convertedObjects.map(lie) } };
    },
  });
  await using _served = await serve(api, group, definition(group, hooks.clientConfig("/")));
  const seen: Record<string, unknown> = {};
  for (const [index, [name, change]] of Object.entries(lies).entries()) {
    lie = change;
    const sent = { ...widget(group, "v2", { length: 1 }), metadata: { name: `w${String(index)}` } };
    for (const query of ["", "?dryRun=All"]) {
      const { status, body } = await api.post(
        `/apis/${group}/v2/widgets${query}`,
        query === "" ? sent : { ...sent, metadata: { name: "dry" } },
      );
      seen[`${name}${query}`] =
        status === 201 ? [status, body.spec, body.top] : [status, String(body.message).replaceAll(namespace, "NAMESPACE")];
    }
  }
  expect(seen).toMatchSnapshot();
});

test("fields that have other names in other versions belong to one manager", async ({ api, namespace }) => {
  const group = `${namespace}.example.com`;
  let isDown = false;
  await using hooks = await startWebhookServer({ "/": (review) => (isDown ? 500 : convert(review)) });
  await using _served = await serve(api, group, definition(group, hooks.clientConfig("/")));
  const seen: unknown[] = [];
  const note = ({ status, body }: Answer): void => {
    const managers = (body.metadata.managedFields ?? []).map(
      ({ manager, operation, apiVersion, fieldsV1 }: { manager: string; operation: string; apiVersion: string; fieldsV1: object }) =>
        `${manager} ${operation} ${apiVersion.replace(group, "GROUP")} ${JSON.stringify(fieldsV1)}`,
    );
    seen.push(status < 300 ? [status, body.spec, managers] : [status, String(body.message).replaceAll(group, "GROUP")]);
  };
  const apply = (version: string, manager: string, spec: object): Promise<Answer> =>
    api.apply(`/apis/${group}/${version}/widgets/a`, manager, widget(group, version, spec));
  note(await apply("v1", "one", { size: 1 }));
  note(await apply("v2", "two", { length: 2 }));
  note(await apply("v2", "two&force=true", { length: 2 }));
  note(await apply("v1", "three", { size: 2 }));
  note(await apply("v2", "three", {}));
  note(await api.patch("merge", `/apis/${group}/v1/widgets/a?fieldManager=four`, { spec: { size: 3 } }));
  note(await api.patch("merge", `/apis/${group}/v2/widgets/a?fieldManager=five`, { spec: { length: 4 } }));
  isDown = true;
  note(await apply("v1", "six", { size: 5 }));
  note(await api.patch("merge", `/apis/${group}/v1/widgets/a?fieldManager=six`, { spec: { size: 6 } }));
  expect(seen).toMatchSnapshot();
});
