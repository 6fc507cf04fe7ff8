import { eventually } from "@virtual-kubelet/testing";
import { gzipSync } from "node:zlib";
import { expect } from "vitest";
import { startWebhookServer, type ReviewHandler } from "../../packages/embedded-apiserver/src/test-support/webhook-server.ts";
import { establishDefinition } from "./support/definitions.ts";
import { configMapNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";
import { messageOf, Webhooks } from "./support/webhooks.ts";

/** Answer to a review; the fields of `own` replace those of the review, and those of `response` the fields of its response. */
const answer =
  (response: object | string | number | null, own: object = {}): ReviewHandler =>
  ({ apiVersion, request }) => ({
    apiVersion,
    kind: "AdmissionReview",
    response: typeof response === "object" && response !== null ? { uid: request.uid, allowed: true, ...response } : response,
    ...own,
  });

const text = (value: string): string => Buffer.from(value).toString("base64");
const patchType = "JSONPatch";

const answers: Readonly<Record<string, ReviewHandler>> = {
  "/no-type": answer({}, { apiVersion: undefined, kind: undefined }),
  "/no-kind": answer({}, { kind: undefined }),
  "/no-version": answer({}, { apiVersion: undefined }),
  "/older-version": answer({}, { apiVersion: "admission.k8s.io/v1beta1" }),
  "/unknown-version": answer({}, { apiVersion: "admission.k8s.io/v2" }),
  "/other-group": answer({}, { apiVersion: "example.com/v1" }),
  "/other-kind": answer({}, { kind: "ConversionReview" }),
  "/status": () => ({ apiVersion: "v1", kind: "Status", status: "Failure", message: "no", code: 418 }),
  "/kind-is-a-number": answer({}, { kind: 1 }),
  "/no-response": answer(null),
  "/response-is-a-text": answer("yes"),
  "/response-is-empty": () => ({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: {} }),
  "/no-uid": answer({ uid: undefined }),
  "/other-uid": answer({ uid: "other" }),
  "/uid-is-a-number": answer({ uid: 1 }),
  "/allowed-is-a-text": answer({ allowed: "true" }),
  "/allowed-is-a-number": answer({ allowed: 1 }),
  "/allowed-is-null": answer({ allowed: null }),
  "/allowed-in-upper-case": answer({ allowed: undefined, Allowed: true }),
  "/warnings-is-a-text": answer({ warnings: "careful" }),
  "/warnings-of-numbers": answer({ warnings: [1] }),
  "/annotations-of-numbers": answer({ auditAnnotations: { a: 1 } }),
  "/status-is-a-text": answer({ allowed: false, status: "no" }),
  "/code-is-a-text": answer({ allowed: false, status: { code: "403" } }),
  "/patch-is-no-base64": answer({ patch: "[]", patchType }),
  "/patch-is-a-list": answer({ patch: [], patchType }),
  "/patch-is-no-list": answer({ patch: text("{}"), patchType }),
  "/patch-is-no-json": answer({ patch: text("{"), patchType }),
  "/patch-of-numbers": answer({ patch: text("[1]"), patchType }),
  "/patch-without-type": answer({ patch: text("[]") }),
  "/type-without-patch": answer({ patchType }),
  "/empty-type": answer({ patch: text("[]"), patchType: "" }),
  "/other-type": answer({ patch: text(`[{"op":"add","path":"/data","value":{}}]`), patchType: "MergePatch" }),
  "/unknown-fields": answer({ other: 1 }, { other: { a: 1 } }),
  "/list": () => [],
  "/null": () => null,
  "/text": () => "yes",
};

test("answers of webhooks are decoded strictly", async ({ api, namespace, core }) => {
  await using hooks = await Webhooks.start(api, namespace, answers);
  const messages: Record<string, string> = {};
  for (const path of Object.keys(answers))
    await hooks.configure("Mutating", path.slice(1), { objectSelector: { matchLabels: { path: path.slice(1) } } }, path);
  for (const path of Object.keys(answers)) {
    const { metadata, ...rest } = configMapNamed("a") as { metadata: object };
    const sent = { ...rest, metadata: { ...metadata, labels: { path: path.slice(1) } } };
    messages[path] = messageOf(await api.post(`${core}/configmaps?dryRun=All`, sent), hooks).replaceAll(namespace, "NS");
  }
  expect(messages).toMatchSnapshot();
});

test("answers of older webhooks are decoded less strictly", async ({ api, namespace, core }) => {
  const older = Object.fromEntries(
    ["/no-type", "/other-uid", "/unknown-version", "/allowed-is-a-text", "/patch-without-type"].map((path) => [path, answers[path]]),
  ) as Readonly<Record<string, ReviewHandler>>;
  await using hooks = await Webhooks.start(api, namespace, older);
  const messages: Record<string, string> = {};
  for (const path of Object.keys(older)) {
    const objectSelector = { matchLabels: { path: path.slice(1) } };
    await hooks.configure("Mutating", path.slice(1), { objectSelector, admissionReviewVersions: ["v1beta1"] }, path);
    const sent = { metadata: { name: "a", labels: { path: path.slice(1) } } };
    messages[path] = messageOf(await api.post(`${core}/configmaps?dryRun=All`, sent), hooks).replaceAll(namespace, "NS");
  }
  expect(messages).toMatchSnapshot();
});

test("a webhook whose connection breaks is called once, and one that asks for it again", async ({ api, namespace, core }) => {
  let calls = 0;
  const asksAgain = (): Response => new Response(undefined, { status: 503, headers: { "retry-after": "0" } });
  await using hooks = await Webhooks.start(api, namespace, {
    "/breaks": () => Response.error(),
    "/again": (review) => (++calls < 3 ? asksAgain() : answer({})(review)),
    "/always": asksAgain,
    "/later": () => new Response(undefined, { status: 429, headers: { "retry-after": "60" } }),
    "/date": () => new Response(undefined, { status: 503, headers: { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" } }),
  });
  const seen: Record<string, unknown> = {};
  for (const path of ["/breaks", "/again", "/always", "/later", "/date"]) {
    const objectSelector = { matchLabels: { path: path.slice(1) } };
    await hooks.configure("Mutating", path.slice(1), { objectSelector, timeoutSeconds: 2 }, path);
    const sent = { metadata: { name: "a", labels: { path: path.slice(1) } } };
    const message = messageOf(await api.post(`${core}/configmaps?dryRun=All`, sent), hooks);
    seen[path] = { message, calls: hooks.reviews(path).length };
  }
  expect(seen).toMatchSnapshot();
});

test("responses of webhooks that are no reviews", async ({ api, namespace, core }) => {
  const json = { "content-type": "application/json" };
  const sent: Readonly<Record<string, () => Response>> = {
    "/empty": () => new Response("", { headers: json }),
    "/no-content": () => new Response(undefined, { status: 204 }),
    "/broken": () => new Response("{", { headers: { ...json, "content-length": "100" } }),
    "/loop": () => new Response(undefined, { status: 307, headers: { location: "/loop" } }),
    "/nowhere": () => new Response(undefined, { status: 307, headers: { location: "" } }),
    "/json-error": () => new Response("{}", { status: 500, headers: json }),
    "/text-error": () => new Response("no\n", { status: 500, headers: { "content-type": "text/plain" } }),
    "/success": () => new Response('{"kind":"Status","apiVersion":"v1","status":"Success"}', { status: 500, headers: json }),
  };
  await using hooks = await Webhooks.start(api, namespace, sent);
  const seen: Record<string, unknown> = {};
  for (const path of Object.keys(sent)) {
    await hooks.configure("Mutating", path.slice(1), { objectSelector: { matchLabels: { path: path.slice(1) } } }, path);
    const created = await api.post(`${core}/configmaps?dryRun=All`, { metadata: { name: "a", labels: { path: path.slice(1) } } });
    seen[path] = { message: messageOf(created, hooks), calls: hooks.reviews(path).length };
  }
  expect(seen).toMatchSnapshot();
});

test("compressed answers of webhooks are unpacked", async ({ api, namespace, core }) => {
  const compressed =
    (
      headers: Record<string, string>,
      change: (packed: Uint8Array) => Uint8Array = (packed) => packed,
      response: object = {},
    ): ReviewHandler =>
    (review) => {
      const body = gzipSync(JSON.stringify(answer(response)(review)));
      return new Response(Uint8Array.from(change(body)), { headers: { "content-type": "application/json", ...headers } });
    };
  const gzip = { "content-encoding": "gzip" };
  const cases: Readonly<Record<string, ReviewHandler>> = {
    "/gzip": compressed(gzip),
    "/upper-case": compressed({ "content-encoding": "GZIP" }),
    "/unnamed": compressed({}),
    "/deflate": compressed({ "content-encoding": "deflate" }),
    "/twice": compressed({ "content-encoding": "gzip, gzip" }, gzipSync),
    "/other-name": compressed({ "content-encoding": "x-gzip" }),
    "/plain": (review) => new Response(JSON.stringify(answer({})(review)), { headers: { ...gzip, "content-type": "application/json" } }),
    "/empty": () => new Response("", { headers: gzip }),
    "/short": compressed(gzip, (packed) => packed.subarray(0, packed.length - 12)),
    "/wrong-checksum": compressed(gzip, (packed) => packed.with(packed.length - 8, (packed.at(-8) ?? 0) ^ 1)),
    "/two-members": compressed(gzip, (packed) => Buffer.concat([packed, gzipSync("  ")])),
    "/denied": compressed(gzip, undefined, { allowed: false, status: { message: "packed" } }),
    "/status": () =>
      new Response(Uint8Array.from(gzipSync("no such thing")), { status: 500, headers: { ...gzip, "content-type": "text/plain" } }),
  };
  await using hooks = await Webhooks.start(api, namespace, cases);
  const messages: Record<string, string> = {};
  for (const path of Object.keys(cases)) {
    await hooks.configure("Mutating", path.slice(1), { objectSelector: { matchLabels: { path: path.slice(1) } } }, path);
    const sent = { metadata: { name: "a", labels: { path: path.slice(1) } } };
    const message = messageOf(await api.post(`${core}/configmaps?dryRun=All`, sent), hooks);
    // The real server also reads YAML.
    messages[path] = message.replace(/(?:yaml|couldn't get version\/kind; json parse error): .*$/, "UNREADABLE");
  }
  expect(messages).toMatchSnapshot();
});

test("an address belongs to a service from the moment that its creation waits for a webhook", async ({ api, namespace, core }) => {
  const path = `${core}/services`;
  const service = (name: string, spec: object = {}): object => ({ metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } });
  const { clusterIP } = (await api.create(path, service("former"))).spec;
  await api.delete(`${path}/former`);
  const [waiting, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using hooks = await Webhooks.start(api, namespace, {
    "/": async (review) => {
      waiting.resolve();
      await released.promise;
      return answer({ allowed: review.request.name !== "refused" })(review) as object;
    },
  });
  const rules = [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["services"] }];
  await hooks.configure("Validating", "services", { rules });
  const create = async (name: string): Promise<unknown> => {
    const { status, body } = await api.post(path, service(name, { clusterIP }));
    return [status, String(body.message ?? "").replaceAll(String(clusterIP), "IP")];
  };
  const first = create("refused");
  await waiting.promise;
  const during = await create("second");
  released.resolve();
  expect([await first, during, await create("third"), await create("fourth")]).toMatchSnapshot();
});

const conversion =
  (response: object | string | null, own: object = {}): ReviewHandler =>
  ({ apiVersion, request }) => ({
    apiVersion,
    kind: "ConversionReview",
    response:
      typeof response === "object" && response !== null
        ? {
            uid: request.uid,
            result: { status: "Success" },
            convertedObjects: request.objects.map((object: object) => ({ ...object, apiVersion: request.desiredAPIVersion })),
            ...response,
          }
        : response,
    ...own,
  });

test.for<[string, ReviewHandler]>([
  ["no type", conversion({}, { apiVersion: undefined, kind: undefined })],
  ["no kind", conversion({}, { kind: undefined })],
  ["another version", conversion({}, { apiVersion: "apiextensions.k8s.io/v1beta1" })],
  ["an unknown version", conversion({}, { apiVersion: "apiextensions.k8s.io/v2" })],
  ["another kind", conversion({}, { kind: "AdmissionReview" })],
  ["no response", conversion(null)],
  ["a text as its response", conversion("yes")],
  ["a number as its uid", conversion({ uid: 1 })],
  ["a text as its result", conversion({ result: "Success" })],
  ["a number as its status", conversion({ result: { status: 1 } })],
  ["a map of objects", conversion({ convertedObjects: {} })],
  ["texts as objects", conversion({ convertedObjects: ["a"] })],
  ["null as an object", conversion({ convertedObjects: [null] })],
  ["unknown fields", conversion({ other: 1 })],
])("an answer of a conversion webhook with %s", async ([, handler], { api, namespace }) => {
  await using hooks = await startWebhookServer({ "/": handler });
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  await using things = await establishDefinition(api, { namespace, schema });
  const crd = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.${namespace}.example.com`;
  await api.create(things.path, { apiVersion: things.apiVersion, kind: "Thing", metadata: { name: "t" } });
  const served = (name: string, storage: boolean): object => ({ name, served: true, storage, schema: { openAPIV3Schema: schema } });
  await api.patch("merge", crd, {
    spec: {
      versions: [served("v1", true), served("v2", false)],
      conversion: { strategy: "Webhook", webhook: { clientConfig: hooks.clientConfig("/"), conversionReviewVersions: ["v1"] } },
    },
  });
  const path = things.path.replace("/v1/", "/v2/");
  const seen = await eventually(
    async () => {
      const got = await api.get(`${path}/t`);
      expect(got.status).not.toBe(404);
      return got;
    },
    { timeoutMs: 60_000 },
  );
  expect([
    seen.status,
    String(seen.body.message ?? seen.body.apiVersion)
      .replaceAll(namespace, "NS")
      .replaceAll(`:${hooks.port}/`, ":PORT/"),
  ]).toMatchSnapshot();
});
