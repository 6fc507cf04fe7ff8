import { expect } from "vitest";
import { configMapNamed, podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

test("POST creates an object and answers 201 with it", async ({ api, core }) => {
  const answer = await api.post(`${core}/configmaps`, configMapNamed("settings", { a: "1" }));

  expect(answer).toMatchInlineSnapshot(`
    201 {
      apiVersion: "v1",
      data: {a: "1"},
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
  expect(answer.headers["content-type"]).toBe("application/json");
  expect(answer.headers["cache-control"]).toBe("no-cache, private");
});

test("kind and apiVersion may be omitted", async ({ api, core }) => {
  expect(await api.post(`${core}/configmaps`, { metadata: { name: "settings" } })).toMatchInlineSnapshot(`
    201 {
      apiVersion: "v1",
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

test("an existing name is refused with 409 AlreadyExists", async ({ api, core, apps }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings"));
  const deployment = {
    metadata: { name: "web" },
    spec: {
      replicas: 0,
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "a", image: "a" }] } },
    },
  };
  await api.create(`${apps}/deployments`, deployment);

  expect(await api.post(`${core}/configmaps`, configMapNamed("settings"))).toMatchInlineSnapshot(
    `409 Failure {details: {kind: "configmaps", name: "settings"}, message: 'configmaps "settings" already exists', reason: "AlreadyExists"}`,
  );
  expect(await api.post(`${apps}/deployments`, deployment)).toMatchInlineSnapshot(`
    409 Failure {
      details: {group: "apps", kind: "deployments", name: "web"},
      message: 'deployments.apps "web" already exists',
      reason: "AlreadyExists",
    }
  `);
});

test("generateName is extended with five random characters", async ({ api, core }) => {
  const answer = await api.post(`${core}/configmaps`, { metadata: { generateName: "settings-" } });

  expect(answer.status).toBe(201);
  expect(answer.body.metadata.generateName).toBe("settings-");
  expect(answer.body.metadata.name).toMatch(/^settings-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
});

test("generateName is truncated so that the name has at most 63 characters", async ({ api, core }) => {
  const answer = await api.post(`${core}/configmaps`, { metadata: { generateName: "a".repeat(70) } });

  expect(answer.body.metadata.name).toMatch(/^a{58}[a-z0-9]{5}$/);
});

test("name takes precedence over generateName", async ({ api, core }) => {
  const answer = await api.post(`${core}/configmaps`, { metadata: { name: "settings", generateName: "other-" } });

  expect(answer).toMatchInlineSnapshot(`
    201 {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        creationTimestamp: "TIME",
        generateName: "other-",
        name: "settings",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
    }
  `);
});

test("an object without name and generateName is refused", async ({ api, core }) => {
  expect(await api.post(`${core}/configmaps`, { metadata: {} })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "metadata.name", message: "Required value: name or generateName is required", reason: "FieldValueRequired"}],
        kind: "ConfigMap",
      },
      message: 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
      reason: "Invalid",
    }
  `);
  expect(await api.post(`${core}/pods`, { ...podNamed("x"), metadata: {} })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "metadata.name", message: "Required value: name or generateName is required", reason: "FieldValueRequired"}],
        kind: "Pod",
      },
      message: 'Pod "" is invalid: metadata.name: Required value: name or generateName is required',
      reason: "Invalid",
    }
  `);
});

test("fields that only the server sets are ignored", async ({ api, core }) => {
  const answer = await api.post(`${core}/configmaps`, {
    metadata: {
      name: "settings",
      uid: "00000000-0000-4000-8000-000000000000",
      creationTimestamp: "2001-01-01T00:00:00Z",
      selfLink: "/x",
      generation: 7,
      deletionGracePeriodSeconds: 5,
      deletionTimestamp: "2001-01-01T00:00:00Z",
    },
  });

  expect(answer).toMatchInlineSnapshot(`
    201 {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        creationTimestamp: "TIME",
        generation: 7,
        name: "settings",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
    }
  `);
  expect(answer.body.metadata.uid).not.toBe("00000000-0000-4000-8000-000000000000");
  expect(answer.body.metadata.creationTimestamp).not.toMatch(/^2001/);
});

test("an object with a resourceVersion is refused", async ({ api, core }) => {
  expect(await api.post(`${core}/configmaps`, { metadata: { name: "settings", resourceVersion: "5" } })).toMatchInlineSnapshot(
    `500 Failure {message: "resourceVersion should not be set on objects to be created"}`,
  );
});

test("the object's namespace must be that of the URL", async ({ api, core }) => {
  expect(await api.post(`${core}/configmaps`, { metadata: { name: "settings", namespace: "default" } })).toMatchInlineSnapshot(
    `400 Failure {message: "the namespace of the provided object does not match the namespace sent on the request", reason: "BadRequest"}`,
  );
});

test("nothing can be created in a missing namespace", async ({ api }) => {
  expect(await api.post("/api/v1/namespaces/nowhere/configmaps", configMapNamed("settings"))).toMatchInlineSnapshot(
    `404 Failure {details: {kind: "namespaces", name: "nowhere"}, message: 'namespaces "nowhere" not found', reason: "NotFound"}`,
  );
  expect(await api.post("/api/v1/namespaces/nowhere/pods", podNamed("web"))).toMatchInlineSnapshot(
    `404 Failure {details: {kind: "namespaces", name: "nowhere"}, message: 'namespaces "nowhere" not found', reason: "NotFound"}`,
  );
});

test("POST to the collection of all namespaces is not allowed", async ({ api }) => {
  expect(await api.post("/api/v1/configmaps", configMapNamed("settings"))).toMatchInlineSnapshot(
    `405 Failure {details: {}, message: "the server does not allow this method on the requested resource", reason: "MethodNotAllowed"}`,
  );
});

test("a body of another kind is refused", async ({ api, core }) => {
  expect(await api.post(`${core}/configmaps`, { apiVersion: "v1", kind: "Secret", metadata: { name: "a" } })).toMatchInlineSnapshot(`
    400 Failure {
      message: 'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion',
      reason: "BadRequest",
    }
  `);
  expect(await api.post(`${core}/configmaps`, { apiVersion: "v2", kind: "ConfigMap", metadata: { name: "a" } })).toMatchInlineSnapshot(`
    400 Failure {
      message: 'ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v2" in scheme "pkg/runtime/scheme.go:111"',
      reason: "BadRequest",
    }
  `);
  expect(await api.post(`${core}/configmaps`, { apiVersion: "v1", kind: "Nothing", metadata: { name: "a" } })).toMatchInlineSnapshot(`
    400 Failure {
      message: 'Nothing in version "v1" cannot be handled as a ConfigMap: no kind "Nothing" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
      reason: "BadRequest",
    }
  `);
});

test("a body that is not a JSON object is refused with 400 and the message of the server's parser", async ({ api, core }) => {
  for (const text of ["", "[]", '"text"', "{", "{nonsense}"]) {
    const { status, body } = await api.post(`${core}/configmaps`, text);

    expect(status, text).toBe(400);
    expect(body, text).toMatchObject({ kind: "Status", status: "Failure", reason: "BadRequest", code: 400 });
    expect(body.message, text).toMatch(
      /^the object provided is unrecognized \(must be of type ConfigMap\): couldn't get version\/kind; json parse error: /,
    );
  }
});

test("a value of the wrong type is refused with 400 that names the field", async ({ api, core }) => {
  expect(await api.post(`${core}/configmaps`, { metadata: { name: "a" }, data: { a: 1 } })).toMatchInlineSnapshot(`
    400 Failure {
      message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
      reason: "BadRequest",
    }
  `);
  expect(await api.post(`${core}/configmaps`, { metadata: { name: 5 } })).toMatchInlineSnapshot(`
    400 Failure {
      message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string',
      reason: "BadRequest",
    }
  `);
  expect(await api.post(`${core}/configmaps`, { metadata: { name: "a" }, data: [] })).toMatchInlineSnapshot(`
    400 Failure {
      message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string',
      reason: "BadRequest",
    }
  `);
  expect(await api.post(`${core}/pods`, podNamed("a", { containers: {} }))).toMatchInlineSnapshot(`
    400 Failure {
      message: 'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container',
      reason: "BadRequest",
    }
  `);
  expect(await api.post(`${core}/pods`, podNamed("a", { priority: "high" }))).toMatchInlineSnapshot(`
    400 Failure {
      message: 'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32',
      reason: "BadRequest",
    }
  `);
  expect(await api.post(`${core}/pods`, podNamed("a", { hostNetwork: "yes" }))).toMatchInlineSnapshot(`
    400 Failure {
      message: 'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool',
      reason: "BadRequest",
    }
  `);
  expect(await api.post(`${core}/pods`, podNamed("a", { containers: [{ name: "a", image: "a", ports: [{ containerPort: "http" }] }] })))
    .toMatchInlineSnapshot(`
    400 Failure {
      message: 'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32',
      reason: "BadRequest",
    }
  `);
});

test("a body that is neither JSON nor YAML nor protobuf is refused with 415", async ({ api, core }) => {
  const answer = await api.request("POST", `${core}/configmaps`, { body: "a", headers: { "content-type": "text/plain" } });

  expect(answer.status).toBe(415);
  expect(answer.body).toMatchObject({ reason: "UnsupportedMediaType", code: 415, status: "Failure" });
  expect(answer.body.message).toMatch(
    /^the body of the request was in an unknown format - accepted media types include: application\/json/,
  );
});

test("a body without a content type is read as JSON", async ({ api, core }) => {
  const answer = await api.request("POST", `${core}/configmaps`, { body: configMapNamed("a"), headers: { "content-type": "" } });

  expect(answer.status).toBe(201);
});

test("a body above 3 MiB is refused with 413", async ({ api, core }) => {
  expect(await api.post(`${core}/configmaps`, configMapNamed("large", { a: "a".repeat(3 * 1024 * 1024) }))).toMatchInlineSnapshot(
    `413 Failure {message: "Request entity too large: limit is 3145728", reason: "RequestEntityTooLarge"}`,
  );
});

test("a refused write has its warnings, too", async ({ api, core }) => {
  const invalid = await api.post(`${core}/configmaps`, { metadata: { name: "_" }, foo: 1 });
  const denied = await api.post(`${core}/pods`, { metadata: { name: "a" }, spec: { containers: [], foo: 1, priorityClassName: "none" } });

  expect([invalid.status, invalid.headers["warning"]]).toMatchInlineSnapshot(`[422, "299 - \\"unknown field \\\\\\"foo\\\\\\"\\""]`);
  expect([denied.status, denied.headers["warning"]]).toMatchInlineSnapshot(`[403, "299 - \\"unknown field \\\\\\"spec.foo\\\\\\"\\""]`);
});

test("each warning is sent once, and all are cut when they are long together", async ({ api, core }) => {
  const warningsFor = async (fields: Record<string, unknown>): Promise<string[]> => {
    const { headers } = await api.post(`${core}/configmaps?dryRun=All`, { metadata: { name: "a" }, ...fields });
    return String(headers["warning"]).split(/, (?=299 - )/);
  };
  const long = (count: number): Record<string, unknown> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${String(index).padStart(2, "0")}${"x".repeat(483)}`, 1]));

  expect((await warningsFor(long(8))).map((warning) => warning.length)).toMatchInlineSnapshot(`[511, 511, 511, 511, 511, 511, 511, 511]`);
  expect((await warningsFor(long(9))).map((warning) => warning.length)).toMatchInlineSnapshot(
    `[265, 265, 265, 265, 265, 265, 265, 265, 265]`,
  );
  expect((await warningsFor(long(20))).map((warning) => warning.length)).toMatchInlineSnapshot(
    `[265, 265, 265, 265, 265, 265, 265, 265, 265, 265, 265, 265, 265, 265, 265, 265]`,
  );
});

test("unknown fields cause warnings, by default and with fieldValidation=Warn", async ({ api, core }) => {
  const body = { metadata: { name: "a", nickname: "b" }, colour: "red" };
  const byDefault = await api.post(`${core}/configmaps`, body);
  const asked = await api.post(`${core}/configmaps?fieldValidation=Warn`, { ...body, metadata: { name: "b", nickname: "b" } });

  expect(byDefault).toMatchInlineSnapshot(`
    201 {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        creationTimestamp: "TIME",
        name: "a",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
    }
  `);
  expect(byDefault.headers["warning"]).toMatchInlineSnapshot(
    `"299 - "unknown field \\"metadata.nickname\\"", 299 - "unknown field \\"colour\\"""`,
  );
  expect(asked.headers["warning"]).toBe(byDefault.headers["warning"]);
});

test("unknown and duplicate fields are refused with fieldValidation=Strict", async ({ api, core }) => {
  expect(await api.post(`${core}/configmaps?fieldValidation=Strict`, { metadata: { name: "a", nickname: "b" }, colour: "red" }))
    .toMatchInlineSnapshot(`
    400 Failure {
      message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "metadata.nickname", unknown field "colour"',
      reason: "BadRequest",
    }
  `);
  expect(await api.post(`${core}/configmaps?fieldValidation=Strict`, '{"metadata":{"name":"a"},"data":{"a":"1","a":"2"}}'))
    .toMatchInlineSnapshot(`
    400 Failure {
      message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: duplicate field "data.a"',
      reason: "BadRequest",
    }
  `);
  expect(await api.post(`${core}/pods?fieldValidation=Strict`, podNamed("a", { containers: [{ name: "a", image: "a", colour: "red" }] })))
    .toMatchInlineSnapshot(`
    400 Failure {
      message: 'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.containers[0].colour"',
      reason: "BadRequest",
    }
  `);
});

test("unknown fields are ignored with fieldValidation=Ignore", async ({ api, core }) => {
  const answer = await api.post(`${core}/configmaps?fieldValidation=Ignore`, { metadata: { name: "a" }, colour: "red" });

  expect(answer.status).toBe(201);
  expect(answer.headers["warning"]).toBeUndefined();
});

test("an unknown value of fieldValidation is refused", async ({ api, core }) => {
  expect(await api.post(`${core}/configmaps?fieldValidation=Loose`, configMapNamed("a"))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "fieldValidation",
            message: 'Unsupported value: "Loose": supported values: "", "Ignore", "Strict", "Warn"',
            reason: "FieldValueNotSupported",
          },
        ],
        group: "meta.k8s.io",
        kind: "CreateOptions",
      },
      message: 'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Loose": supported values: "", "Ignore", "Strict", "Warn"',
      reason: "Invalid",
    }
  `);
});

test("a dry run responds normally and stores nothing", async ({ api, core }) => {
  expect(await api.post(`${core}/configmaps?dryRun=All`, configMapNamed("a"))).toMatchInlineSnapshot(`
    201 {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        creationTimestamp: "TIME",
        name: "a",
        namespace: "NAMESPACE",
        uid: "UID",
      },
    }
  `);
  expect((await api.get(`${core}/configmaps/a`)).status).toBe(404);
  expect(await api.post(`${core}/configmaps?dryRun=All`, configMapNamed("B"))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "metadata.name",
            message: "Invalid value: \\"B\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            reason: "FieldValueInvalid",
          },
        ],
        kind: "ConfigMap",
        name: "B",
      },
      message: "ConfigMap \\"B\\" is invalid: metadata.name: Invalid value: \\"B\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      reason: "Invalid",
    }
  `);
});

test("a dryRun value other than All is refused", async ({ api, core }) => {
  expect(await api.post(`${core}/configmaps?dryRun=Some`, configMapNamed("a"))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "dryRun", message: 'Unsupported value: ["Some"]: supported values: "All"', reason: "FieldValueNotSupported"}],
        group: "meta.k8s.io",
        kind: "CreateOptions",
      },
      message: 'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"',
      reason: "Invalid",
    }
  `);
});

test("a write of the main resource ignores the status", async ({ api, core }) => {
  const pod = await api.create(`${core}/pods`, { ...podNamed("web"), status: { phase: "Running", podIP: "192.168.0.1" } });

  expect(pod.status).toEqual({ phase: "Pending", qosClass: "BestEffort" });
});
