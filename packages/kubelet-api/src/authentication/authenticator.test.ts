import { UnavailableError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import type { User } from "../access-control/access-control.ts";
import { Authenticator } from "./authenticator.ts";

const { signal } = new AbortController();
const socket = { authorized: false, getPeerCertificate: () => ({}) as never };
const withToken = { headers: { authorization: "Bearer good" }, socket };
const without = { headers: {}, socket };

interface Given {
  readonly certificate?: User;
  readonly shown?: boolean;
  readonly anonymous?: boolean;
  readonly tokens?: boolean;
  readonly fails?: boolean;
}

function rig({ certificate, shown = certificate !== undefined, anonymous = false, tokens = true, fails = false }: Given = {}) {
  return new Authenticator({
    certificates: { authenticate: () => certificate, wasShown: () => shown },
    tokens: tokens
      ? {
          async authenticate(token) {
            if (fails) throw new UnavailableError("down");
            return token === "good" ? { name: "bob", groups: ["dev"] } : undefined;
          },
        }
      : undefined,
    anonymous,
  });
}

test("a certificate goes before a token, and who is known is in the group of those who are", async () => {
  const user = await rig({ certificate: { name: "ann", groups: ["ops"] } }).authenticate(withToken, signal);

  expect(user).toEqual({ name: "ann", groups: ["ops", "system:authenticated"] });
});

test("a certificate that does not hold is no obstacle to a token that does", async () => {
  expect(await rig({ shown: true }).authenticate(withToken, signal)).toEqual({ name: "bob", groups: ["dev", "system:authenticated"] });
});

test("the group is not given twice", async () => {
  const user = await rig({ certificate: { name: "ann", groups: ["system:authenticated"] } }).authenticate(without, signal);

  expect(user?.groups).toEqual(["system:authenticated"]);
});

test("without credentials nobody is known, unless that is allowed", async () => {
  expect(await rig().authenticate(without, signal)).toBeUndefined();
  expect(await rig({ anonymous: true }).authenticate(without, signal)).toEqual({
    name: "system:anonymous",
    groups: ["system:unauthenticated"],
  });
});

test("credentials that do not hold are not anonymous", async () => {
  const bad = { headers: { authorization: "Bearer bad" }, socket };

  expect(await rig({ anonymous: true }).authenticate(bad, signal)).toBeUndefined();
  expect(await rig({ anonymous: true, shown: true }).authenticate(without, signal)).toBeUndefined();
  expect(await rig({ anonymous: true, tokens: false }).authenticate(withToken, signal)).toBeUndefined();
});

test("a token that cannot be asked about refuses the request", async () => {
  await expect(rig({ anonymous: true, fails: true }).authenticate(withToken, signal)).rejects.toThrow("down");
});

test("a malformed token among a WebSocket's sub-protocols is nobody's", async () => {
  const headers = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-protocol": "base64url.bearer.authorization.k8s.io.!!!, v4.channel.k8s.io",
  };

  expect(await rig({ anonymous: true }).authenticate({ headers, socket }, signal)).toBeUndefined();
});
