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

test("a certificate takes precedence over a token, and every authenticated caller is in the group system:authenticated", async () => {
  const user = await rig({ certificate: { name: "ann", groups: ["ops"] } }).authenticate(withToken, signal);

  expect(user).toEqual({ name: "ann", groups: ["ops", "system:authenticated"] });
});

test("an invalid certificate does not prevent authentication by a valid token", async () => {
  expect(await rig({ shown: true }).authenticate(withToken, signal)).toEqual({ name: "bob", groups: ["dev", "system:authenticated"] });
});

test("the group is not added twice", async () => {
  const user = await rig({ certificate: { name: "ann", groups: ["system:authenticated"] } }).authenticate(without, signal);

  expect(user?.groups).toEqual(["system:authenticated"]);
});

test("without credentials no caller is authenticated, unless anonymous requests are allowed", async () => {
  expect(await rig().authenticate(without, signal)).toBeUndefined();
  expect(await rig({ anonymous: true }).authenticate(without, signal)).toEqual({
    name: "system:anonymous",
    groups: ["system:unauthenticated"],
  });
});

test("a request with invalid credentials is not anonymous", async () => {
  const bad = { headers: { authorization: "Bearer bad" }, socket };

  expect(await rig({ anonymous: true }).authenticate(bad, signal)).toBeUndefined();
  expect(await rig({ anonymous: true, shown: true }).authenticate(without, signal)).toBeUndefined();
  expect(await rig({ anonymous: true, tokens: false }).authenticate(withToken, signal)).toBeUndefined();
});

test("a request is refused if its token cannot be reviewed", async () => {
  await expect(rig({ anonymous: true, fails: true }).authenticate(withToken, signal)).rejects.toThrow("down");
});

test("a malformed token among a WebSocket's sub-protocols authenticates nobody", async () => {
  const headers = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-protocol": "base64url.bearer.authorization.k8s.io.!!!, v4.channel.k8s.io",
  };

  expect(await rig({ anonymous: true }).authenticate({ headers, socket }, signal)).toBeUndefined();
});
