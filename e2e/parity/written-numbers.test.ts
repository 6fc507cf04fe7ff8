import { expect } from "vitest";
import { patch } from "../../packages/embedded-apiserver/src/test-support/webhook-server.ts";
import type { Api } from "./support/api.ts";
import { establishDefinition } from "./support/definitions.ts";
import { test } from "./support/parity-test.ts";
import { Webhooks } from "./support/webhooks.ts";

/** Numbers that JSON can write in several ways. */
const numbers = ["7", "1e1", "1E1", "1e+1", "10e-1", "1.0", "1.5", "-0", "-0.0", "1e0", "0e5", "1.0e1"];

const schema = {
  type: "object",
  properties: { size: { type: "integer" }, weight: { type: "number" }, free: { "x-kubernetes-preserve-unknown-fields": true } },
};

/** Outcome of a request: the number in the bytes of the response, or the error. */
async function sent(
  api: Api,
  request: readonly [method: string, path: string, type: string, body: string],
  field: string,
): Promise<unknown> {
  const [method, path, type, body] = request;
  const answer = await api.bytes(method, `${path}?dryRun=All&fieldManager=test${type.startsWith("apply") ? "&force=true" : ""}`, {
    body,
    headers: { "content-type": `application/${type}` },
  });
  const text = answer.body.toString();
  if (answer.status < 300) return new RegExp(`"${field}":([^,}]*)`).exec(text)?.[1] ?? "absent";
  // The object is quoted, with another order of its fields.
  return [
    answer.status,
    (JSON.parse(text) as { message: string }).message
      .replace(/Invalid value: "\{.*\}": /, "")
      .replace(/ \(\{.*$/, "")
      .replace(/"(?:a|new)"/, '"NAME"'),
  ];
}

/** Outcomes by number. Requests with the same outcome are listed together. */
async function outcomes(
  api: Api,
  {
    path,
    name,
    field,
    at,
    body,
  }: Readonly<Record<"path" | "name" | "field" | "at", string>> & { readonly body: (number: string) => string },
  types: readonly string[],
): Promise<unknown> {
  const seen: Record<string, Record<string, unknown>> = {};
  const item = `${path}/${name}`;
  const { resourceVersion } = (await api.get(item)).body.metadata;
  for (const number of numbers) {
    const value = at.split("/").reduceRight((inner, key) => (key === "" ? inner : `{"${key}":${inner}}`), number);
    const requests: Readonly<Record<string, Parameters<typeof sent>[1]>> = {
      POST: ["POST", path, "json", body(number).replace(`"name":"${name}"`, '"name":"new"')],
      YAML: ["POST", path, "yaml", body(number).replace(`"name":"${name}"`, '"name":"new"')],
      PUT: ["PUT", item, "json", body(number).replace(`"name":"${name}"`, `"name":"${name}","resourceVersion":"${resourceVersion}"`)],
      merge: ["PATCH", item, "merge-patch+json", value],
      strategic: ["PATCH", item, "strategic-merge-patch+json", value],
      json: ["PATCH", item, "json-patch+json", `[{"op":"add","path":"${at}","value":${number}}]`],
      apply: ["PATCH", item, "apply-patch+yaml", body(number)],
    };
    const same = new Map<string, string[]>();
    for (const [type, request] of Object.entries(requests)) {
      if (!types.includes(type)) continue;
      const outcome = JSON.stringify(await sent(api, request, field));
      same.set(outcome, [...(same.get(outcome) ?? []), type]);
    }
    seen[number] = Object.fromEntries(Array.from(same, ([outcome, names]) => [names.join(", "), JSON.parse(outcome) as unknown]));
  }
  return seen;
}

test("numbers of a built-in kind are read as in Go", async ({ api, core }) => {
  const body = (number: string): string =>
    `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"clusterIP":"None","ports":[{"port":80}],"sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":${number}}}}}`;
  await api.create(`${core}/services`, body("5"));
  const at = "/spec/sessionAffinityConfig/clientIP/timeoutSeconds";
  const target = { path: `${core}/services`, name: "a", field: "timeoutSeconds", at, body };
  expect(await outcomes(api, target, ["POST", "YAML", "PUT", "merge", "strategic", "json", "apply"])).toMatchSnapshot();
});

test("numbers of a custom resource are read as in Go", async ({ api, namespace }) => {
  await using things = await establishDefinition(api, { namespace, schema });
  const { apiVersion, kind, path } = things;
  for (const field of ["size", "weight", "free"]) {
    const body = (number: string): string => `{"apiVersion":"${apiVersion}","kind":"${kind}","metadata":{"name":"a"},"${field}":${number}}`;
    if (field === "size") await api.create(path, body("5"));
    const seen = await outcomes(api, { path, name: "a", field, at: `/${field}`, body }, ["POST", "YAML", "PUT", "merge", "json", "apply"]);
    expect(JSON.parse(JSON.stringify(seen).replaceAll(namespace, "NS"))).toMatchSnapshot(field);
  }
});

test("numbers of a webhook's patch are read as in Go", async ({ api, namespace, core }) => {
  await using things = await establishDefinition(api, { namespace, schema });
  const rule = { operations: ["CREATE"], apiVersions: ["v1"] };
  const patchOf = (path: string, number: string): string => `[{"op":"add","path":"${path}","value":${number}}]`;
  await using hooks = await Webhooks.start(api, namespace, {
    "/": (review) => {
      const { kind, metadata } = review.request.object;
      const path = kind === "Service" ? "/spec/sessionAffinityConfig/clientIP/timeoutSeconds" : `/${metadata.annotations.field}`;
      const answer = patch([])(review);
      answer.response.patch = Buffer.from(patchOf(path, metadata.annotations.number)).toString("base64");
      return answer as object;
    },
  });
  const rules = [
    { ...rule, apiGroups: [""], resources: ["services"] },
    { ...rule, apiGroups: [`${namespace}.example.com`], resources: ["things"] },
  ];
  await hooks.configure("Mutating", "numbers", { rules });
  const seen: Record<string, unknown> = {};
  for (const number of numbers) {
    const annotations = { number, field: "size" };
    const spec = {
      clusterIP: "None",
      ports: [{ port: 80 }],
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } },
    };
    const service = JSON.stringify({ metadata: { name: "a", annotations }, spec });
    const { apiVersion, kind } = things;
    const thing = (field: string): string =>
      JSON.stringify({ apiVersion, kind, metadata: { name: "a", annotations: { ...annotations, field } } });
    seen[number] = [
      await sent(api, ["POST", `${core}/services`, "json", service], "timeoutSeconds"),
      await sent(api, ["POST", things.path, "json", thing("size")], "size"),
      await sent(api, ["POST", things.path, "json", thing("free")], "free"),
    ];
  }
  expect(JSON.parse(JSON.stringify(seen).replaceAll(namespace, "NS"))).toMatchSnapshot();
});

test("numbers that a later operation of a JSON patch replaces or removes are not read", async ({ api, core }) => {
  const spec = { ports: [{ port: 80 }], sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } };
  await api.create(`${core}/services`, { metadata: { name: "a" }, spec });
  const path = "/spec/sessionAffinityConfig/clientIP/timeoutSeconds";
  const odd = `{"op":"add","path":"${path}","value":1e1}`;
  const seen: Record<string, unknown> = {};
  for (const [name, operations] of Object.entries({
    replaced: [odd, `{"op":"replace","path":"${path}","value":7}`],
    removed: [odd, `{"op":"remove","path":"${path}"}`],
    "removed before": [`{"op":"remove","path":"${path}"}`, odd],
    "many digits": [odd.replace("1e1", "1.00000000000000000001")],
  }))
    seen[name] = await sent(api, ["PATCH", `${core}/services/a`, "json-patch+json", `[${operations.join()}]`], "timeoutSeconds");
  expect(seen).toMatchSnapshot();
});
