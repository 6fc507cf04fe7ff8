import { expect } from "vitest";
import type { Answer } from "./support/api.ts";
import { configMapNamed, podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

test("a merge patch sets and replaces fields, and removes them with null", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings", { a: "1", b: "2" }, { labels: { x: "y" } }));

  expect(await api.patch("merge", `${core}/configmaps/settings`, { data: { b: null, c: "3" }, metadata: { labels: { x: null } } }))
    .toMatchInlineSnapshot(`
    200 {
      apiVersion: "v1",
      data: {a: "1", c: "3"},
      kind: "ConfigMap",
      metadata: {
        creationTimestamp: "TIME",
        name: "settings",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
    }
  `);
});

test("a merge patch replaces complete lists", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings", {}, { finalizers: ["example.com/a", "example.com/b"] }));
  const answer = await api.patch("merge", `${core}/configmaps/settings`, { metadata: { finalizers: ["example.com/c"] } });

  expect(answer.body.metadata.finalizers).toEqual(["example.com/c"]);
  await api.patch("merge", `${core}/configmaps/settings`, { metadata: { finalizers: null } });
});

test("a JSON patch supports add, remove, replace, move, copy and test", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings", { a: "1", b: "2" }, { annotations: { "example.com/a": "1" } }));
  const answer = await api.patch("json", `${core}/configmaps/settings`, [
    { op: "test", path: "/data/a", value: "1" },
    { op: "add", path: "/data/c", value: "3" },
    { op: "remove", path: "/data/b" },
    { op: "replace", path: "/data/a", value: "one" },
    { op: "copy", from: "/data/c", path: "/data/d" },
    { op: "move", from: "/data/c", path: "/data/e" },
    { op: "replace", path: "/metadata/annotations/example.com~1a", value: "2" },
    { op: "add", path: "/metadata/labels", value: { "a~b": "c" } },
  ]);

  expect(answer.status).toBe(422);
  const fixed = await api.patch("json", `${core}/configmaps/settings`, [
    { op: "test", path: "/data/a", value: "1" },
    { op: "add", path: "/data/c", value: "3" },
    { op: "remove", path: "/data/b" },
    { op: "replace", path: "/data/a", value: "one" },
    { op: "copy", from: "/data/c", path: "/data/d" },
    { op: "move", from: "/data/c", path: "/data/e" },
    { op: "replace", path: "/metadata/annotations/example.com~1a", value: "2" },
  ]);
  expect(fixed).toMatchInlineSnapshot(`
    200 {
      apiVersion: "v1",
      data: {a: "one", d: "3", e: "3"},
      kind: "ConfigMap",
      metadata: {
        annotations: {example.com/a: "2"},
        creationTimestamp: "TIME",
        name: "settings",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
    }
  `);
});

test("a JSON patch addresses list elements by index, and the end with -", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings", {}, { finalizers: ["example.com/a"] }));
  const answer = await api.patch("json", `${core}/configmaps/settings`, [
    { op: "add", path: "/metadata/finalizers/-", value: "example.com/z" },
    { op: "add", path: "/metadata/finalizers/0", value: "example.com/0" },
    { op: "remove", path: "/metadata/finalizers/1" },
  ]);

  expect(answer.body.metadata.finalizers).toEqual(["example.com/0", "example.com/z"]);
  await api.patch("merge", `${core}/configmaps/settings`, { metadata: { finalizers: null } });
});

test("a JSON patch that cannot be applied is refused with 422 and has no effect", async ({ api, core }) => {
  const created = await api.create(`${core}/configmaps`, configMapNamed("settings", { a: "1" }));
  const patch = (...operations: readonly unknown[]): Promise<Answer> => api.patch("json", `${core}/configmaps/settings`, operations);

  expect(await patch({ op: "add", path: "/data/b", value: "2" }, { op: "test", path: "/data/a", value: "2" })).toMatchInlineSnapshot(
    `422 Failure {details: {}, message: "the server rejected our request due to an error in our request", reason: "Invalid"}`,
  );
  expect(await patch({ op: "remove", path: "/data/none" })).toMatchInlineSnapshot(
    `422 Failure {details: {}, message: "the server rejected our request due to an error in our request", reason: "Invalid"}`,
  );
  expect(await patch({ op: "replace", path: "/nothing/a", value: 1 })).toMatchInlineSnapshot(
    `422 Failure {details: {}, message: "the server rejected our request due to an error in our request", reason: "Invalid"}`,
  );
  expect(await patch({ op: "dance", path: "/data/a" })).toMatchInlineSnapshot(
    `422 Failure {details: {}, message: "the server rejected our request due to an error in our request", reason: "Invalid"}`,
  );
  expect((await api.get(`${core}/configmaps/settings`)).body).toEqual(created);
});

test("a JSON patch that is not a list is refused with 400", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings", { a: "1" }));

  expect(await api.patch("json", `${core}/configmaps/settings`, { op: "remove", path: "/data" })).toMatchInlineSnapshot(`
    400 Failure {
      message: "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
      reason: "BadRequest",
    }
  `);
});

test("a merge or strategic patch that is not an object is refused with 400", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings", { a: "1" }));

  for (const type of ["merge", "strategic"] as const) {
    expect((await api.patch(type, `${core}/configmaps/settings`, "[]")).status, type).toBe(400);
    expect((await api.patch(type, `${core}/configmaps/settings`, "{")).status, type).toBe(400);
  }
});

test("a patch with an invalid result is refused", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings", { a: "1" }));

  expect(await api.patch("merge", `${core}/configmaps/settings`, { data: "text" })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "patch",
            message: 'Invalid value: "OBJECT": json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string',
            reason: "FieldValueInvalid",
          },
        ],
      },
      message: ' "" is invalid: patch: Invalid value: "OBJECT": json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string',
      reason: "Invalid",
    }
  `);
  expect(await api.patch("merge", `${core}/configmaps/settings`, { data: { "a b": "1" } })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "data[a b]",
            message: "Invalid value: \\"a b\\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
            reason: "FieldValueInvalid",
          },
        ],
        kind: "ConfigMap",
        name: "settings",
      },
      message: "ConfigMap \\"settings\\" is invalid: data[a b]: Invalid value: \\"a b\\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
      reason: "Invalid",
    }
  `);
  expect(await api.patch("merge", `${core}/configmaps/settings`, { metadata: { name: "other" } })).toMatchInlineSnapshot(
    `400 Failure {message: "the name of the object (other) does not match the name on the URL (settings)", reason: "BadRequest"}`,
  );
  expect(await api.patch("merge", `${core}/configmaps/settings`, { kind: "Secret", data: null })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "patch",
            message: 'Invalid value: "OBJECT": converting (v1.Secret) to (core.ConfigMap): unknown conversion',
            reason: "FieldValueInvalid",
          },
        ],
      },
      message: ' "" is invalid: patch: Invalid value: "OBJECT": converting (v1.Secret) to (core.ConfigMap): unknown conversion',
      reason: "Invalid",
    }
  `);
  // For this error the real server uses the message of another library.
  expect(await api.patch("strategic", `${core}/configmaps/settings`, { data: "text" })).toMatchObject({
    status: 422,
    body: { reason: "Invalid", message: expect.stringMatching(/^ "" is invalid: patch: Invalid value: /) },
  });
});

test("a patch with an old resourceVersion is refused with 409 Conflict", async ({ api, core }) => {
  const { metadata } = await api.create(`${core}/configmaps`, configMapNamed("settings", { a: "1" }));
  await api.patch("merge", `${core}/configmaps/settings`, { data: { a: "2" } });
  const { resourceVersion } = metadata;

  expect(await api.patch("merge", `${core}/configmaps/settings`, { metadata: { resourceVersion }, data: { a: "3" } }))
    .toMatchInlineSnapshot(`
    409 Failure {
      details: {kind: "configmaps", name: "settings"},
      message: 'Operation cannot be fulfilled on configmaps "settings": the object has been modified; please apply your changes to the latest version and try again',
      reason: "Conflict",
    }
  `);
  expect(await api.patch("strategic", `${core}/configmaps/settings`, { metadata: { resourceVersion }, data: { a: "3" } }))
    .toMatchInlineSnapshot(`
    409 Failure {
      details: {kind: "configmaps", name: "settings"},
      message: 'Operation cannot be fulfilled on configmaps "settings": the object has been modified; please apply your changes to the latest version and try again',
      reason: "Conflict",
    }
  `);
});

test("a patch with another uid is refused with 409 Conflict, on the object and on its status", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web"));
  const uid = "00000000-0000-4000-8000-000000000000";

  expect(await api.patch("merge", `${core}/pods/web`, { metadata: { uid } })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "metadata.uid",
            message: 'Invalid value: "UID": field is immutable',
            reason: "FieldValueInvalid",
          },
          {
            field: "metadata.uid",
            message: 'Invalid value: "UID": field is immutable',
            reason: "FieldValueInvalid",
          },
        ],
        kind: "Pod",
        name: "web",
      },
      message: 'Pod "web" is invalid: metadata.uid: Invalid value: "UID": field is immutable',
      reason: "Invalid",
    }
  `);
  expect(await api.patch("strategic", `${core}/pods/web/status`, { metadata: { uid }, status: { phase: "Running" } }))
    .toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "metadata.uid",
            message: 'Invalid value: "UID": field is immutable',
            reason: "FieldValueInvalid",
          },
          {
            field: "metadata.uid",
            message: 'Invalid value: "UID": field is immutable',
            reason: "FieldValueInvalid",
          },
        ],
        kind: "Pod",
        name: "web",
      },
      message: 'Pod "web" is invalid: metadata.uid: Invalid value: "UID": field is immutable',
      reason: "Invalid",
    }
  `);
  expect(await api.patch("strategic", `${core}/pods/web/status`, { metadata: { uid: "short" }, status: { phase: "Running" } }))
    .toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {field: "metadata.uid", message: 'Invalid value: "short": field is immutable', reason: "FieldValueInvalid"},
          {field: "metadata.uid", message: 'Invalid value: "short": field is immutable', reason: "FieldValueInvalid"},
        ],
        kind: "Pod",
        name: "web",
      },
      message: 'Pod "web" is invalid: metadata.uid: Invalid value: "short": field is immutable',
      reason: "Invalid",
    }
  `);
});

test("a patch that changes nothing keeps the resourceVersion", async ({ api, core }) => {
  const created = await api.create(`${core}/configmaps`, configMapNamed("settings", { a: "1" }));

  expect((await api.patch("merge", `${core}/configmaps/settings`, { data: { a: "1" } })).body).toEqual(created);
  expect((await api.patch("strategic", `${core}/configmaps/settings`, {})).body).toEqual(created);
  expect((await api.patch("json", `${core}/configmaps/settings`, [])).body).toEqual(created);
});

test("a patch of another content type is refused with 415", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings", { a: "1" }));
  const answer = await api.request("PATCH", `${core}/configmaps/settings`, { body: {}, headers: { "content-type": "application/json" } });

  expect(answer).toMatchInlineSnapshot(`415 Failure {details: {}, message: "415: Unsupported Media Type", reason: "UnsupportedMediaType"}`);
});

test("unknown fields in a patch cause warnings, and a refusal with fieldValidation=Strict", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings", { a: "1" }));
  const warned = await api.patch("merge", `${core}/configmaps/settings`, { colour: "red" });

  expect(warned.status).toBe(200);
  expect(warned.headers["warning"]).toMatchInlineSnapshot(`"299 - "unknown field \\"colour\\"""`);
  expect(await api.patch("merge", `${core}/configmaps/settings?fieldValidation=Strict`, { colour: "red" })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "patch",
            message: 'Invalid value: "OBJECT": strict decoding error: unknown field "colour"',
            reason: "FieldValueInvalid",
          },
        ],
      },
      message: ' "" is invalid: patch: Invalid value: "OBJECT": strict decoding error: unknown field "colour"',
      reason: "Invalid",
    }
  `);
  expect(await api.patch("strategic", `${core}/configmaps/settings?fieldValidation=Strict`, { colour: "red" })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "patch",
            message: 'Invalid value: "OBJECT": strict decoding error: unknown field "colour"',
            reason: "FieldValueInvalid",
          },
        ],
      },
      message: ' "" is invalid: patch: Invalid value: "OBJECT": strict decoding error: unknown field "colour"',
      reason: "Invalid",
    }
  `);
  expect(await api.patch("json", `${core}/configmaps/settings?fieldValidation=Strict`, [{ op: "add", path: "/colour", value: "red" }]))
    .toMatchInlineSnapshot(`
      422 Failure {
        details: {
          causes: [
            {
              field: "patch",
              message: 'Invalid value: "OBJECT": strict decoding error: unknown field "colour"',
              reason: "FieldValueInvalid",
            },
          ],
        },
        message: ' "" is invalid: patch: Invalid value: "OBJECT": strict decoding error: unknown field "colour"',
        reason: "Invalid",
      }
    `);
});

test("a dry run of a patch responds normally and stores nothing", async ({ api, core }) => {
  const created = await api.create(`${core}/configmaps`, configMapNamed("settings", { a: "1" }));
  const answer = await api.patch("merge", `${core}/configmaps/settings?dryRun=All`, { data: { a: "2" } });

  expect(answer.body.data).toEqual({ a: "2" });
  expect((await api.get(`${core}/configmaps/settings`)).body).toEqual(created);
});

test("a patched object that is refused is shown as the patch library writes it, or as the strategic merge patch itself", async ({
  api,
  core,
}) => {
  await api.create(`${core}/configmaps`, { metadata: { name: "a", labels: { b: "1", a: "2" } }, data: { l: "w", k: "<" } });
  const path = `${core}/configmaps/a`;
  const message = async (answer: ReturnType<typeof api.patch>): Promise<string> => {
    const { status, body } = await answer;
    const { uid, resourceVersion, creationTimestamp, namespace } = (await api.get(path)).body.metadata;
    const known = { UID: uid, VERSION: `"${resourceVersion}\\"`, TIME: creationTimestamp, NAMESPACE: namespace };
    return Object.entries(known).reduce(
      (text, [name, value]) => text.replaceAll(value, name),
      `${String(status)} ${body.message.replace("Invalid value: ", "")}`,
    );
  };

  expect([
    await message(api.patch("json", path, [{ op: "replace", path: "/data/k", value: 5 }])),
    await message(api.patch("json", path, [{ op: "add", path: "/data", value: { z: "1", a: 5 } }])),
    await message(api.patch("json", path, [{ op: "copy", from: "/metadata/name", path: "/immutable" }])),
    await message(api.patch("merge", path, { data: { z: null, b: 5 } })),
    await message(api.patch("merge", `${path}?fieldValidation=Strict`, { nosuch: { z: 1, a: { c: 2, b: null } } })),
  ]).toMatchSnapshot();
  expect([
    await message(api.patch("strategic", path, { data: 5 })),
    await message(api.patch("strategic", path, { data: { k: 5 } })),
    await message(api.patch("strategic", path, { data: { k: true } })),
    await message(api.patch("strategic", path, { immutable: "x", metadata: { labels: { x: null, y: "b c" } } })),
    await message(api.patch("strategic", path, { metadata: { generation: 1.5 } })),
    await message(api.patch("strategic", path, { metadata: { finalizers: "x" } })),
    await message(api.patch("strategic", path, { metadata: { deletionTimestamp: 5 } })),
    await message(api.patch("strategic", path, { metadata: 5 })),
    await message(api.patch("strategic", path, { binaryData: { a: "*" } })),
    await message(api.patch("strategic", `${path}?fieldValidation=Strict`, { nosuch: { z: 1, a: ["b", null] } })),
  ]).toMatchInlineSnapshot(`
    [
      '422  "" is invalid: patch: "map[data:5]": cannot restore map from int64',
      '422  "" is invalid: patch: "map[data:map[k:5]]": cannot convert int64 to string',
      '422  "" is invalid: patch: "map[data:map[k:true]]": unrecognized type: string',
      '422  "" is invalid: patch: "map[immutable:x metadata:map[labels:map[x:<nil> y:b c]]]": unrecognized type: bool',
      '422  "" is invalid: patch: "map[metadata:map[generation:1.5]]": cannot convert float64 to int64',
      '422  "" is invalid: patch: "map[metadata:map[finalizers:x]]": cannot restore slice from string',
      '422  "" is invalid: patch: "map[metadata:map[deletionTimestamp:5]]": json: cannot unmarshal number into Go value of type string',
      '422  "" is invalid: patch: "map[metadata:5]": cannot restore struct from: int64',
      '422  "" is invalid: patch: "map[binaryData:map[a:*]]": error decoding from json: illegal base64 data at input byte 0',
      '422  "" is invalid: patch: "map[nosuch:map[a:[b <nil>] z:1]]": strict decoding error: unknown field "nosuch"',
    ]
  `);
});

test("a strategic merge patch does not change the type of an object", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, { metadata: { name: "a" } });
  const { status, body } = await api.patch("strategic", `${core}/configmaps/a`, { kind: "Pod", apiVersion: "v2" });

  expect([status, body.kind, body.apiVersion]).toEqual([200, "ConfigMap", "v1"]);
});
