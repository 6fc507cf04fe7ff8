import { expect, test } from "vitest";
import { startKubeletWorld, textOf, type KubeletWorld } from "../test-support/kubelet-world.ts";

const pods = "/api/v1/namespaces/default/pods";
const services = "/api/v1/namespaces/default/services";

function startWithPod(ip = "10.1.0.7"): KubeletWorld {
  const metadata = { name: "web", namespace: "default" };
  return startKubeletWorld([
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata,
      spec: {
        containers: [
          { name: "a", image: "a" },
          { name: "b", image: "b", ports: [{ containerPort: 8080 }] },
        ],
      },
      status: { podIPs: [{ ip }] },
    },
    { apiVersion: "v1", kind: "Service", metadata, spec: { ports: [{ port: 80, name: "http", targetPort: 8080 }] } },
    {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata,
      subsets: [
        {
          addresses: [{ ip: "10.0.0.1" }, { ip, targetRef: { kind: "Pod", namespace: "default", name: "web" } }],
          ports: [{ name: "http", port: 8080 }],
        },
      ],
    },
  ]);
}

test.each([
  ["web/proxy/a?b=c", "http://10.1.0.7:8080/a?b=c"],
  ["web:9090/proxy/", "http://10.1.0.7:9090/"],
  ["https:web:9090/proxy/a%2Fb", "https://10.1.0.7:9090/a%2Fb"],
])("pods/%s goes to %s without credentials", async (path, url) => {
  const world = startWithPod();
  world.answer = { body: "hello" };

  const answer = await world.ask(`${pods}/${path}`);

  expect(world.sent.map((request) => [request.url.href, request.isAnonymous])).toEqual([[url, true]]);
  expect(await textOf(answer)).toBe("hello");
});

test("a pod at an IPv6 address is reached", async () => {
  const world = startWithPod("fd00::7");

  await world.ask(`${pods}/web/proxy/`);

  expect(world.sent[0]?.url.href).toBe("http://[fd00::7]:8080/");
});

test.each(["web:http", "web:80"])("services/%s goes to the address that is a pod's", async (name) => {
  const world = startWithPod();

  await world.ask(`${services}/${name}/proxy/a`);

  expect(world.sent.map(({ url }) => url.href)).toEqual(["http://10.1.0.7:8080/a"]);
});

test("the target is told the original path, and its redirects stay below it", async () => {
  const world = startWithPod();
  world.answer = { statusCode: 302, headers: { location: "/login?next=%2Fa" } };

  const answer = await world.ask(`${pods}/web/proxy/a`);

  expect(world.sent[0]?.headers).toMatchObject({ "x-forwarded-uri": `${pods}/web/proxy/a` });
  expect(answer).toMatchObject({ status: 302, headers: { location: `${pods}/web/proxy/login?next=%2Fa` } });
  world.answer = { statusCode: 302, headers: { location: "https://elsewhere.example/x" } };
  expect(await world.ask(`${pods}/web/proxy/a`)).toMatchObject({ headers: { location: "https://elsewhere.example/x" } });
});

test("a pod that cannot be reached is 503", async () => {
  const world = startWithPod();
  world.answer = new Error("connect ECONNREFUSED 10.1.0.7:8080");

  expect(await world.refusal(`${pods}/web/proxy/`)).toMatchObject({
    code: 503,
    message: "error trying to reach service: connect ECONNREFUSED 10.1.0.7:8080",
  });
});

test.each(["80@192.0.2.9", "80?", "80#", "http", "-1", "99999", "0"])("a port %s leads nowhere", async (port) => {
  const world = startWithPod();

  expect(await world.refusal(`${pods}/web:${encodeURIComponent(port)}/proxy/a`)).toMatchObject({ code: 503 });
  expect(world.sent).toEqual([]);
});

test("an escaped slash in a port separates segments, so that the path leads nowhere", async () => {
  const world = startWithPod();

  await expect(world.ask(`${pods}/web:80%2Fadmin/proxy/a`)).rejects.toThrow("names no resource");
  expect(world.sent).toEqual([]);
});

test.each(["0::0", "0:0:0:0:0:0:0:0", "FE80::1", "ff02::1"])("a pod at %s is not reached, in whatever form that is written", async (ip) => {
  const pod = { metadata: { name: "web", namespace: "default" }, spec: { containers: [{ name: "a", image: "a" }] } };
  const world = startKubeletWorld([{ apiVersion: "v1", kind: "Pod", ...pod, status: { podIPs: [{ ip }] } }]);

  expect(await world.refusal(`${pods}/web/proxy/`)).toMatchObject({ code: 400, message: "address not allowed" });
  expect(world.sent).toEqual([]);
});

test("a response's cookies stay apart, and headers of the connection and for other sites are dropped", async () => {
  const world = startWithPod();
  const dropped = { connection: "x-hop", "x-hop": "1", "proxy-connection": "keep-alive", "access-control-allow-origin": "*" };
  world.answer = { headers: { ...dropped, "set-cookie": ["a=1; Path=/", "b=2"], "content-length": "0", "x-name": "\u00c3\u00a9" } };

  expect(await world.ask(`${pods}/web/proxy/a`)).toMatchObject({ cookies: ["a=1; Path=/", "b=2"] });
  expect((await world.ask(`${pods}/web/proxy/a`)).headers).toEqual({
    "cache-control": "no-cache, private",
    "content-length": "0",
    "x-name": "\u00e9",
  });
});
