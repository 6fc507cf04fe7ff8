import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { toCredentials } from "../config/credentials.ts";
import { uuidOf, ZunApi } from "../zun/zun-api.ts";
import { faultOf, toApiError } from "./api-error.ts";
import { endpointOf } from "./catalogue.ts";
import type { HttpAnswer, HttpClient, HttpRequest } from "./http-client.ts";
import { Session } from "./session.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };
const catalog = [
  {
    type: "container",
    endpoints: [
      { interface: "internal", region_id: "R1", url: "http://in" },
      { interface: "public", region_id: "R1", url: "http://zun/v1/" },
      { interface: "public", region: "R2", url: "http://zun2" },
    ],
  },
  { type: "container-infra", endpoints: [{ interface: "public", region_id: "R1", url: "http://magnum" }] },
];
const versions = { versions: [{ id: "v1", max_version: "1.40" }] };

/** A cloud whose answers to requests for Zun a test writes. */
class ScriptedCloud implements HttpClient {
  readonly sent: HttpRequest[] = [];
  tokens = 0;
  lifetimeMs = 3_600_000;
  answer: (request: HttpRequest) => Partial<HttpAnswer> = () => ({});

  async send(request: HttpRequest): Promise<HttpAnswer> {
    request.signal.throwIfAborted();
    this.sent.push(request);
    if (request.url.endsWith("/auth/tokens")) {
      const issued = Date.parse("2026-01-01T00:00:00Z");
      const token = {
        issued_at: new Date(issued).toISOString(),
        expires_at: new Date(issued + this.lifetimeMs).toISOString(),
        project: { id: "p1" },
        catalog,
      };
      return { status: 201, headers: { "x-subject-token": `token-${++this.tokens}` }, body: { token } };
    }
    if (request.url === "http://zun/") return { status: 200, headers: {}, body: versions };
    return { status: 200, headers: {}, body: {}, ...this.answer(request) };
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

const { signal } = new AbortController();

function open(): { cloud: ScriptedCloud; clock: VirtualClock; session: Session; api: ZunApi } {
  const cloud = new ScriptedCloud();
  const clock = new VirtualClock();
  const credentials = toCredentials({ authUrl: "http://key", username: "u", password: "p", projectName: "p" });
  const session = new Session({ http: cloud, clock, logger: silent, credentials, choice: {}, endpoints: {} });
  return { cloud, clock, session, api: new ZunApi(session) };
}

test("the log says once where and by which credentials it signs in, and not with what", async () => {
  const told: unknown[] = [];
  const cloud = new ScriptedCloud();
  const credentials = toCredentials({ authUrl: "http://key", username: "u", password: "hush", projectName: "p" });
  const logger = { ...silent, info: (fields: object, message: string) => void told.push({ ...fields, message }) };
  const session = new Session({ http: cloud, clock: new VirtualClock(), logger, credentials, choice: {}, endpoints: {} });
  await session.projectId(signal);
  cloud.answer = () => ({ status: 401 });
  await session.send({ service: "container", method: "GET", path: "/", what: "look", signal }).catch(() => {});

  expect([told, cloud.tokens]).toEqual([
    [{ authUrl: "http://key/v3", method: "password", lifetimeMs: 3_600_000, message: "signed in to OpenStack" }],
    2,
  ]);
  expect(JSON.stringify(told)).not.toContain("hush");
});

test("many requests at once ask for one token", async () => {
  const { cloud, api } = open();
  await Promise.all([api.ping(signal), api.ping(signal), api.ping(signal)]);
  expect(cloud.tokens).toBe(1);
});

test("a token is renewed two minutes before it ends", async () => {
  const { cloud, clock, api } = open();
  await api.ping(signal);
  await clock.advance(3_600_000 - 120_001);
  await api.ping(signal);
  expect(cloud.tokens).toBe(1);
  await clock.advance(1);
  await api.ping(signal);
  expect(cloud.tokens).toBe(2);
});

test("a token that a service refuses is asked for anew, and the request repeated, once", async () => {
  const { cloud, api } = open();
  cloud.answer = ({ headers }) => (headers?.["x-auth-token"] === "token-1" ? { status: 401 } : {});
  await api.ping(signal);
  expect(cloud.tokens).toBe(2);

  cloud.answer = () => ({ status: 401, body: { error: { code: 401, message: "no" } } });
  await expect(api.ping(signal)).rejects.toMatchObject({ code: "VK_UNAUTHORIZED" });
  expect(cloud.tokens).toBe(3);
});

test("who is aborted while a token is asked for takes nobody with him", async () => {
  const { cloud, api } = open();
  const abort = new AbortController();
  const first = api.ping(abort.signal).catch((error: unknown) => error);
  const second = api.ping(signal);
  abort.abort("gone");
  expect(await first).toBe("gone");
  await second;
  expect(cloud.tokens).toBe(1);
});

test("each request names the newest version that both know, read once from the version document", async () => {
  const { cloud, api } = open();
  await api.ping(signal);
  await api.ping(signal);
  expect(cloud.sent.map(({ url, headers }) => [url, headers?.["openstack-api-version"]])).toEqual([
    ["http://key/v3/auth/tokens", undefined],
    ["http://zun/", undefined],
    ["http://zun/v1/containers/?limit=1", "container 1.40"],
    ["http://zun/v1/containers/?limit=1", "container 1.40"],
  ]);
});

test("a list goes on to its last page, and is none where a page fails", async () => {
  const { cloud, api } = open();
  const page = (names: readonly string[], next: string | null): Partial<HttpAnswer> => ({
    body: { containers: names.map((uuid) => ({ uuid })), next },
  });
  cloud.answer = ({ url }) => (url.includes("marker=b") ? page(["c"], null) : page(["a", "b"], "http://next"));
  expect((await api.listContainers(signal)).map(uuidOf)).toEqual(["a", "b", "c"]);

  cloud.answer = ({ url }) =>
    url.includes("marker=b") ? { status: 503, headers: { "retry-after": "7" } } : page(["a", "b"], "http://next");
  await expect(api.listContainers(signal)).rejects.toMatchObject({ code: "VK_UNAVAILABLE", retryAfterMs: 7_000 });
});

test("an endpoint is chosen by interface and region, and what is there is named otherwise", () => {
  expect(endpointOf(catalog, "container", {})).toBe("http://zun/v1");
  expect(endpointOf(catalog, "container", { interface: "internalURL" })).toBe("http://in");
  expect(endpointOf(catalog, "container", { region: "R2" })).toBe("http://zun2");
  expect(() => endpointOf(catalog, "container", { region: "R3" })).toThrow(
    /in region R3.*it is there as internal in R1, public in R1, public in R2/,
  );
  expect(() => endpointOf(catalog, "network", {})).toThrow(/no such service among container, container-infra/);
});

test.for<[number, unknown, string, RegExp]>([
  [
    403,
    { errors: [{ code: "container.over-quota", detail: "Quota exceeded for resources: ['disk']" }] },
    "VK_QUOTA_EXCEEDED",
    /Quota exceeded.*free some/,
  ],
  [
    403,
    { errors: [{ code: "container.policy-not-authorized", detail: "Policy doesn't allow x." }] },
    "VK_FORBIDDEN",
    /doesn't allow x; the project's role/,
  ],
  [
    409,
    { NeutronError: { type: "OverQuota", message: "Quota exceeded for resources: ['port'].", detail: "" } },
    "VK_QUOTA_EXCEEDED",
    /port/,
  ],
  [409, { errors: [{ code: "container.conflict", detail: "There is no neutron network available" }] }, "VK_CONFLICT", /no neutron network/],
  [404, { error: { code: 404, message: "gone", title: "Not Found" } }, "VK_NOT_FOUND", /create a pod: gone$/],
  [400, { errors: [{ title: "Bad", code: "x" }] }, "VK_INVALID_INPUT", /Bad/],
  [404, "<html>404 page not found</html>", "VK_UNAVAILABLE", /404 page not found; the answer is not the service's own/],
  [404, { errors: [{ code: "container.container-not-found", detail: "gone" }] }, "VK_NOT_FOUND", /gone$/],
  [406, undefined, "VK_UNSUPPORTED", /the answer is 406/],
  [503, "<html><h1>No server</h1> is available</html>", "VK_UNAVAILABLE", /No server is available/],
  [500, undefined, "VK_UNAVAILABLE", /the answer is 500/],
])("an answer of %d to %j is %s", ([status, body, code, message]) => {
  const error = toApiError("create a pod", { status, headers: {}, body });
  expect(error.code).toBe(code);
  expect(error.message).toMatch(message);
});

test("a service's message is one line, and not without end", () => {
  expect(faultOf({ body: { errors: [{ detail: `a\n  b ${"x".repeat(1000)}` }] } }).message).toMatch(/^a b x{395}…$/);
});
