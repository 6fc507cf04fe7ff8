import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { test } from "./support/parity-test.ts";

/** Above 2^53, where a JavaScript number would become 9007199254740992. */
const odd = "9007199254740993";
const largest = "9223372036854775807";

const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        size: { type: "integer", format: "int64" },
        small: { type: "integer", maximum: 100 },
        even: { type: "integer", multipleOf: 2 },
        share: { "x-kubernetes-int-or-string": true },
        weight: { type: "number" },
        sizes: { type: "array", items: { type: "integer" }, "x-kubernetes-list-type": "set" },
        parts: {
          type: "array",
          items: { type: "object", required: ["id"], properties: { id: { type: "integer" }, text: { type: "string" } } },
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["id"],
        },
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        limited: {
          type: "integer",
          "x-kubernetes-validations": [{ rule: "self != 9007199254740993", message: "is odd" }],
        },
      },
    },
  },
};

test("integers of up to 64 bits keep their digits in custom resources", async ({ api, namespace }) => {
  const group = `${namespace}.example.com`;
  const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const columns = [
    { name: "Size", type: "integer", jsonPath: ".spec.size" },
    { name: "Text", type: "string", jsonPath: ".spec.size" },
    { name: "Free", type: "string", jsonPath: ".spec.free" },
  ];
  await api.create(crds, {
    metadata: { name: `numbers.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "numbers", kind: "Number" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          additionalPrinterColumns: columns,
          selectableFields: [{ jsonPath: ".spec.size" }],
        },
      ],
    },
  });
  const path = `/apis/${group}/v1/namespaces/${namespace}/numbers`;
  await eventually(async () => expect((await api.get(path)).status).toBe(200), { timeoutMs: 60_000 });
  const type = `"apiVersion":"${group}/v1","kind":"Number"`;
  const send = async (
    method: string,
    url: string,
    body?: string,
    headers: Record<string, string> = { "content-type": "application/json" },
  ): Promise<{ status: number; text: string }> => {
    const answer = await api.bytes(method, url, { ...(body === undefined ? {} : { body }), headers });
    return { status: answer.status, text: answer.body.toString().replaceAll(namespace, "NAMESPACE") };
  };
  const create = async (name: string, spec: string): Promise<unknown> => {
    const { status, text } = await send("POST", path, `{${type},"metadata":{"name":"${name}"},"spec":${spec}}`);
    return status === 201 ? /"spec":(.*)\}\s*$/.exec(text)?.[1] : [status, (JSON.parse(text) as { message: string }).message];
  };

  expect(await create("a", `{"free":{"n":[-${largest}]},"share":${odd},"size":${largest},"weight":${odd}}`)).toMatchInlineSnapshot(
    `"{"free":{"n":[-9223372036854775807]},"share":9007199254740993,"size":9223372036854775807,"weight":9007199254740993}"`,
  );
  expect(await create("b", `{"small":${odd}}`)).toMatchInlineSnapshot(`
    [
      422,
      'Number.NAMESPACE.example.com "b" is invalid: spec.small: Invalid value: 9007199254740993: spec.small in body should be less than or equal to 100',
    ]
  `);
  expect(await create("b", `{"even":${odd}}`)).toMatchInlineSnapshot(`
    [
      422,
      'Number.NAMESPACE.example.com "b" is invalid: spec.even: Invalid value: 9007199254740993: spec.even in body should be a multiple of 2',
    ]
  `);
  expect(await create("b", `{"limited":${odd}}`)).toMatchInlineSnapshot(
    `[422, 'Number.NAMESPACE.example.com "b" is invalid: spec.limited: Invalid value: 9007199254740993: is odd']`,
  );
  expect(await create("b", `{"limited":9007199254740995}`)).toMatchInlineSnapshot(`"{"limited":9007199254740995}"`);
  expect(await create("c", `{"sizes":[${odd},${odd}]}`)).toMatchInlineSnapshot(
    `[422, 'Number.NAMESPACE.example.com "c" is invalid: spec.sizes[1]: Duplicate value: 9007199254740993']`,
  );
  expect(await create("c", `{"size":92233720368547758079}`)).toMatchInlineSnapshot(`
    [
      422,
      'Number.NAMESPACE.example.com "c" is invalid: [spec.size: Invalid value: "float64": spec.size in body must be of type int64: "float64", <nil>: Invalid value: "": Checked value must be of type integer with format int64 in spec.size, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]',
    ]
  `);
  for (const spec of ["1.5", "true", "{}", '"x"', "[]"]) expect(await create("c", `{"size":${spec}}`)).toMatchSnapshot(spec);
  const digits = async (url: string, headers: Record<string, string> = {}): Promise<readonly string[]> =>
    (await send("GET", url, undefined, headers)).text.match(/-?\d{16,}/g) ?? [];
  expect(await digits(`${path}/a`)).toMatchInlineSnapshot(
    `["-9223372036854775807", "9007199254740993", "9223372036854775807", "9007199254740993"]`,
  );
  expect(await digits(`${path}/a?pretty=true`)).toMatchInlineSnapshot(
    `["-9223372036854775807", "9007199254740993", "9223372036854775807", "9007199254740993"]`,
  );
  expect(await digits(`${path}/a`, { accept: "application/yaml" })).toMatchInlineSnapshot(
    `["-9223372036854775807", "9007199254740993", "9223372036854775807", "9007199254740993"]`,
  );
  expect(await digits(`${path}?fieldSelector=spec.size%3D${largest}`)).toMatchInlineSnapshot(
    `["-9223372036854775807", "9007199254740993", "9223372036854775807", "9007199254740993"]`,
  );
  expect(await digits(`${path}/a`, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" })).toMatchInlineSnapshot(
    `["9223372036854775807", "9223372036854775807", "-9223372036854775807"]`,
  );
  const patched = async (kind: string, body: string, name = "a"): Promise<unknown> => {
    const { status, text } = await send("PATCH", `${path}/${name}?fieldManager=test`, body, { "content-type": `application/${kind}` });
    return [status, text.match(/(?:k:\{[^}]*|v:|:|\[|,)-?\d{16,}/g)];
  };
  expect(await patched("merge-patch+json", `{"spec":{"size":${odd}}}`)).toMatchInlineSnapshot(
    `[200, ["[-9223372036854775807", ":9007199254740993", ":9007199254740993", ":9007199254740993"]]`,
  );
  expect(
    await patched(
      "json-patch+json",
      `[{"op":"test","path":"/spec/size","value":${odd}},{"op":"replace","path":"/spec/size","value":9007199254740995}]`,
    ),
  ).toMatchInlineSnapshot(`[200, ["[-9223372036854775807", ":9007199254740993", ":9007199254740995", ":9007199254740993"]]`);
  expect(await patched("json-patch+json", `[{"op":"test","path":"/spec/size","value":9007199254740996}]`)).toMatchInlineSnapshot(
    `[422, null]`,
  );
  const applied = (spec: string): string => `{${type},"metadata":{"name":"d"},"spec":${spec}}`;
  expect(
    await patched("apply-patch+yaml", applied(`{"parts":[{"id":${odd},"text":"x"},{"id":7}],"size":${largest},"sizes":[${odd},5]}`), "d"),
  ).toMatchInlineSnapshot(
    `[201, ["k:{\\\\\\"id\\\\\\":9007199254740993", "v:9007199254740993", ":9007199254740993", ":9223372036854775807", "[9007199254740993"]]`,
  );
  expect(await patched("apply-patch+yaml", applied(`{"parts":[{"id":${odd},"text":"y"}]}`), "d")).toMatchInlineSnapshot(
    `[200, ["k:{\\\\\\"id\\\\\\":9007199254740993", ":9007199254740993"]]`,
  );
  const yaml = `apiVersion: ${group}/v1\nkind: Number\nmetadata: {name: e}\nspec: {size: ${odd}, weight: 1}\n`;
  expect((await send("POST", path, yaml, { "content-type": "application/yaml" })).text.match(/"spec":.*(?=\})/)?.[0]).toMatchInlineSnapshot(
    `""spec":{"size":9007199254740993,"weight":1}"`,
  );
  await api.delete(`${crds}/numbers.${group}`);
});
