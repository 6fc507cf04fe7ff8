import { expect } from "vitest";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

test("proxies of pods and services refuse what has no address", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", { nodeName: "n1" }));
  const service = (name: string, fields: object = {}): object => ({
    metadata: { name },
    spec: { ports: [{ port: 80, name: "http" }], ...fields },
  });
  await api.create(`${core}/services`, service("web"));
  await api.create(`${core}/services`, service("outside"));
  await api.create(`${core}/endpoints`, {
    metadata: { name: "outside" },
    subsets: [{ addresses: [{ ip: "192.0.2.7" }], ports: [{ name: "http", port: 8080 }] }],
  });
  const answer = async (path: string): Promise<unknown> => {
    const { status, body } = await api.get(`${core}/${path}`);
    return [status, body.reason, body.message];
  };

  expect(await answer("pods/web/proxy/")).toMatchInlineSnapshot(`[400, "BadRequest", "address not allowed"]`);
  expect(await answer("pods/nosuch:80/proxy/a")).toMatchInlineSnapshot(`[404, "NotFound", 'pods "nosuch" not found']`);
  expect(await answer("pods/ftp:web:80/proxy/a")).toMatchInlineSnapshot(`[400, "BadRequest", 'invalid pod request "ftp:web:80"']`);
  expect(await answer("pods/:80/proxy/a")).toMatchInlineSnapshot(`[400, "BadRequest", 'invalid pod request ":80"']`);
  expect(await answer("services/web/proxy/")).toMatchInlineSnapshot(`[404, "NotFound", 'services "web" not found']`);
  expect(await answer("services/web:81/proxy/")).toMatchInlineSnapshot(
    `[503, "ServiceUnavailable", 'no service port 81 found for service "web"']`,
  );
  expect(await answer("services/https:web:http/proxy/")).toMatchInlineSnapshot(`[404, "NotFound", 'services "web" not found']`);
  expect(await answer("services/outside:http/proxy/")).toMatchInlineSnapshot(
    `[503, "ServiceUnavailable", 'no endpoints available for service "outside:http"']`,
  );
  expect(await answer("services/outside:80/proxy/")).toMatchInlineSnapshot(
    `[503, "ServiceUnavailable", 'no endpoints available for service "outside:80"']`,
  );
  expect(await answer("services/nosuch/proxy/")).toMatchInlineSnapshot(`[404, "NotFound", 'services "nosuch" not found']`);
  expect(await answer("services/nosuch:80/proxy/")).toMatchInlineSnapshot(`[404, "NotFound", 'services "nosuch" not found']`);
  expect(await answer("services/a:b:c:d/proxy/")).toMatchInlineSnapshot(`[400, "BadRequest", 'invalid service request "a:b:c:d"']`);
  for (const ip of ["169.254.1.1", "224.0.0.1", "fe80::1"]) {
    await api.patch("merge", `${core}/pods/web/status`, { status: { podIP: ip, podIPs: [{ ip }] } });
    expect(await answer("pods/web:80/proxy/")).toEqual([400, "BadRequest", "address not allowed"]);
  }
});
