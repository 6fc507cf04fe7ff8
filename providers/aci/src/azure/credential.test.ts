import type { AccessToken } from "@azure/identity";
import { VirtualClock } from "@virtual-kubelet/clock";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { settingsOf } from "../test-support/pods.ts";
import { createTokenSource, type TokenSourceOptions } from "./credential.ts";

const live = new AbortController().signal;

function identity(failures: readonly Error[] = []): {
  options: TokenSourceOptions;
  clock: VirtualClock;
  signIns: () => number;
  created: () => number;
} {
  const clock = new VirtualClock();
  const left = [...failures];
  let signIns = 0;
  let created = 0;
  const options: TokenSourceOptions = {
    settings: settingsOf(),
    clock,
    createCredential: async () => {
      created++;
      return {
        getToken: async () => {
          signIns++;
          const failure = left.shift();
          if (failure) throw failure;
          return { token: `token-${signIns}`, expiresOnTimestamp: clock.now() + 3_600_000 };
        },
      };
    },
  };
  return { options, clock, signIns: () => signIns, created: () => created };
}

test("a token is used until shortly before its expiry, and fetched once for all who wait", async () => {
  const { options, clock, signIns } = identity();
  const tokens = createTokenSource(options);

  expect(await Promise.all([tokens.token(live), tokens.token(live)])).toEqual(["token-1", "token-1"]);
  await clock.advance(3_600_000 - 121_000);
  expect(await tokens.token(live)).toBe("token-1");
  await clock.advance(2_000);
  expect(await tokens.token(live)).toBe("token-2");
  expect(signIns()).toBe(2);
});

test("after a refusal the credentials are read again, once for each token", async () => {
  const { options, created } = identity();
  const tokens = createTokenSource(options);
  const first = await tokens.token(live);
  tokens.refused(first);
  const second = await tokens.token(live);
  tokens.refused(first);

  expect([first, second, await tokens.token(live)]).toEqual(["token-1", "token-2", "token-2"]);
  expect(created()).toBe(2);
});

test("a refused credential and an unreachable sign-in are different errors", async () => {
  const refused = Object.assign(new Error("AADSTS7000215: Invalid client secret"), { name: "AuthenticationError", statusCode: 401 });
  const wrapped = (message: string): Error => Object.assign(new Error(message), { name: "AuthenticationRequiredError" });
  const { options } = identity([
    refused,
    wrapped("invalid_client: Error(s): 7000215 - Description: AADSTS7000215: Invalid client secret provided."),
    wrapped("network_error: Network request failed"),
    new Error("getaddrinfo ENOTFOUND"),
  ]);
  const tokens = createTokenSource(options);

  await expect(tokens.token(live)).rejects.toMatchObject({ code: "VK_UNAUTHORIZED", message: expect.stringContaining("managedIdentity") });
  await expect(tokens.token(live)).rejects.toMatchObject({ code: "VK_UNAUTHORIZED" });
  await expect(tokens.token(live)).rejects.toMatchObject({ code: "VK_UNAVAILABLE" });
  await expect(tokens.token(live)).rejects.toMatchObject({ code: "VK_UNAVAILABLE" });
  expect(await tokens.token(live)).toBe("token-5");
});

test("a sign-in without an answer ends after a minute, and the next one is tried", async () => {
  const clock = new VirtualClock();
  let calls = 0;
  const getToken = (): Promise<AccessToken> =>
    ++calls === 1 ? new Promise(() => {}) : Promise.resolve({ token: "second", expiresOnTimestamp: clock.now() + 3_600_000 });
  const tokens = createTokenSource({
    settings: settingsOf({ credential: "azureCli" }),
    clock,
    createCredential: async () => ({ getToken }),
  });
  const first = tokens.token(live).catch((error: unknown) => error);
  await clock.advance(60_000);

  expect(await first).toMatchObject({ code: "VK_UNAVAILABLE", message: expect.stringContaining("did not answer within 60 s") });
  expect(await tokens.token(live)).toBe("second");
});

test("a token file is read for each request, so that somebody else can renew it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "aci-token-"));
  try {
    const tokenFile = join(folder, "token");
    const tokens = createTokenSource({ settings: settingsOf({ credential: "token", tokenFile }), clock: new VirtualClock() });

    await expect(tokens.token(live)).rejects.toMatchObject({ code: "VK_UNAUTHORIZED" });
    await writeFile(tokenFile, "one\n");
    expect(await tokens.token(live)).toBe("one");
    await writeFile(tokenFile, "two");
    expect(await tokens.token(live)).toBe("two");
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("outside Azure, where no managed identity answers, the error says soon that nothing else is configured", async () => {
  const clock = new VirtualClock();
  const silent = { getToken: () => new Promise<never>(() => {}) };
  const tokens = createTokenSource({ settings: settingsOf(), clock, createCredential: async () => silent });
  const failed = tokens.token(live).catch((error: unknown) => error);
  await clock.advance(8_000);

  expect(await failed).toMatchObject({
    code: "VK_UNAUTHORIZED",
    message: expect.stringMatching(
      /managedIdentity: no managed identity answered within 8 s; no other credential is configured: set tenantId/,
    ),
  });
});

test("a credential that this machine does not have counts as refused", async () => {
  const missing = Object.assign(new Error("Azure CLI could not be found"), { name: "CredentialUnavailableError" });
  const { options } = identity([missing]);

  await expect(createTokenSource(options).token(live)).rejects.toMatchObject({ code: "VK_UNAUTHORIZED" });
});

test.for([
  ["clientSecretFile", { tenantId: "t", clientId: "c", clientSecretFile: "/does/not/exist" }],
  ["clientCertificateFile", { tenantId: "t", clientId: "c", clientCertificateFile: "/does/not/exist" }],
  ["federatedTokenFile", { tenantId: "t", clientId: "c", federatedTokenFile: "/does/not/exist" }],
] as const)("a missing %s is told before anything is sent", ([setting, fields]) => {
  expect(() => createTokenSource({ settings: settingsOf(fields), clock: new VirtualClock() })).toThrow(
    `${setting}: "/does/not/exist": not there, expected a readable file`,
  );
});
