import { expect, test } from "vitest";
import { parseFlags } from "../command-line/flag-parser.ts";
import type { Settings } from "../config/settings.ts";
import { carriedSettings } from "./carried-settings.ts";

/** Names of the secret variables that the service of a node with this provider gets. */
function secretsOf(provider: string, env: Readonly<Record<string, string>>): readonly string[] {
  const settings = { cluster: { kubeconfig: "/kubeconfig" }, nodes: [{ provider }] } as unknown as Settings;
  const context = { env, cwd: "/", homeDir: "/root" };
  return carriedSettings(parseFlags("service", ["print"]), { settings }, [], context).secretVariables.map(({ name }) => name);
}

test.for([
  ["fargate", ["AWS_PROFILE", "AWS_SECRET_ACCESS_KEY"]],
  ["ecs", ["AWS_PROFILE", "AWS_SECRET_ACCESS_KEY"]],
  ["mock", []],
] as const)("credentials of the cloud's own library go only to the service that uses it: provider %s gets %j", ([provider, names]) => {
  expect(secretsOf(provider, { AWS_SECRET_ACCESS_KEY: "s", AWS_PROFILE: "p", AWS_EMPTY: "", AZURE_OTHER: "x" })).toEqual(names);
});
