import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { PretendHost } from "../support/container-host/pretend-host.ts";
import type { ChooseScript } from "../support/container-host/run-script.ts";
import type { ArmAnswer } from "./fake/arm-request.ts";
import type { ContainerGroupBody, GroupProperties } from "./fake/container-group-body.ts";
import { FakeAzure, fakeAccount, type FakeAzureOptions } from "./fake/fake-azure.ts";

/** Path of the fake's container groups. */
export const groupsPath: string = `/subscriptions/${fakeAccount.subscriptionId}/resourceGroups/${fakeAccount.resourceGroup}/providers/Microsoft.ContainerInstance/containerGroups`;

/** A fake on a virtual clock with pretended containers. */
export interface PretendAzure {
  readonly azure: FakeAzure;
  readonly clock: VirtualClock;
  readonly host: PretendHost;
  /** Sends a request with a valid token. @returns `drop` or `never` if there was no answer */
  call(method: string, path: string, body?: unknown, query?: Readonly<Record<string, string>>): Promise<ArmAnswer | "drop" | "never">;
  /** As {@link call}, and returns the body. @throws Error unless the answer is a success */
  ok(method: string, path: string, body?: unknown, query?: Readonly<Record<string, string>>): Promise<Record<string, unknown>>;
}

/** Opens a fake. @param script - behavior of containers */
export function openPretendAzure(script: ChooseScript = () => ({}), options: Partial<FakeAzureOptions> = {}): PretendAzure {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const host = new PretendHost({ clock, script: (run, group) => script(run, group) });
  const azure = new FakeAzure({ host, clock, random: new SeededRandom(1), ...options });
  azure.tokens.lifetimeSeconds = 24 * 3600;
  const authorization = `Bearer ${azure.tokens.issue()}`;
  const call: PretendAzure["call"] = (method, path, body, query = {}) =>
    azure.handle({ method, path, body, query: new URLSearchParams({ "api-version": "2025-09-01", ...query }), headers: { authorization } });
  return {
    azure,
    clock,
    host,
    call,
    async ok(method, path, body, query) {
      const answer = await call(method, path, body, query);
      if (typeof answer === "string" || answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
      return (answer.body ?? {}) as Record<string, unknown>;
    },
  };
}

/** Body of a container group with one container, `app`. */
export function groupBody(properties: Partial<GroupProperties> = {}, tags: Readonly<Record<string, string>> = {}): ContainerGroupBody {
  return {
    location: fakeAccount.location,
    tags,
    properties: {
      osType: "Linux",
      restartPolicy: "Never",
      containers: [{ name: "app", properties: { image: "web:1", resources: { requests: { cpu: 1, memoryInGB: 1.5 } } } }],
      ...properties,
    },
  };
}
