import { isForbidden, isInvalidInput, isUnauthorized, messageOf } from "@virtual-kubelet/errdefs";
import { tryAccess, type AccessTrial } from "../../providers/try-provider.ts";
import { ConfigError } from "../../program-error.ts";
import type { NodeCheck } from "../check.ts";
import { fail, pass, warn, type Judgement } from "../finding.ts";
import { refusals } from "./configuration.ts";

/** Whether the provider's package is there, and its configuration is valid. */
export const providerConfigurationCheck: NodeCheck = {
  name: "provider.configuration",
  async run({ planned, settings }) {
    try {
      const { setup } = await planned.own();
      return [pass(`provider ${setup.definition.name}`)];
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const [, install] = /(npm install \S+)$/.exec(messageOf(error)) ?? [];
      return refusals(error, install ?? `virtual-kubelet providers ${settings.provider}   # lists its settings`);
    }
  },
};

/** Whether the back end answers, and accepts the credentials. */
export const providerPingCheck: NodeCheck = {
  name: "provider.ping",
  async run({ planned, loaded, facts, settings }) {
    const node = await planned.needed();
    // Without it less is found.
    const clusterId = await facts.clusterId.needed().catch(() => undefined);
    return judgeTrial(await tryAccess(node, loaded.settings, facts.context, clusterId), settings.provider);
  },
};

/** @param name - name of the provider */
export function judgeTrial({ created, answered, described, warnings = [] }: AccessTrial, name: string): Judgement[] {
  const settings = `virtual-kubelet providers ${name}   # lists its settings`;
  if (created !== undefined) return [{ ...explain(created, settings), check: "provider.ping" }];
  if (answered !== undefined) return [explain(answered, settings)];
  const description = described === undefined ? pass("the back end lets the provider describe the node") : explain(described, settings);
  return [
    pass("the back end answers"),
    { ...description, check: "provider.description" },
    ...warnings.map((warning) => ({ ...warn(warning.replaceAll("\n", " "), settings), check: "provider.access" })),
  ];
}

function explain(error: unknown, settings: string): Judgement {
  const message = messageOf(error).replaceAll("\n", " ");
  if (isUnauthorized(error))
    return fail(
      `the back end refuses the credentials: ${message}`,
      settings,
      "# renew token, password or certificate where the provider finds it; the provider's README says where",
    );
  if (isForbidden(error))
    return fail(
      `the credentials lack a right at the back end: ${message}`,
      settings,
      "# grant that right at the back end; the provider's README lists the necessary ones",
    );
  if (isInvalidInput(error)) return fail(message, settings, "# set it in --provider-config, or by its variable");
  return fail(message, settings, "# start the back end, or correct its address in --provider-config");
}
