import { messageOf } from "@virtual-kubelet/errdefs";
import type { LoadedSettings } from "../../config/load-settings.ts";
import type { Settings } from "../../config/settings.ts";
import type { Context } from "../../context.ts";
import { checkAddress, checkClientCa, checkServingCertificate } from "../../dry-run/check-run.ts";
import { ConfigError } from "../../program-error.ts";
import type { ProgramCheck } from "../check.ts";
import type { Facts } from "../facts.ts";
import { fail, pass, warn, type Judgement } from "../finding.ts";
import { ownCommand } from "../shell-words.ts";

/** Whether a run would accept the settings. */
export const settingsCheck: ProgramCheck = {
  name: "configuration.settings",
  async run({ loaded, line }) {
    try {
      const { settings } = await loaded.own();
      return [pass(settings.nodes.map(({ name, provider }) => `node ${name} with provider ${provider}`).join(", "))];
    } catch (error) {
      return refusals(error, "# correct it; every setting: virtual-kubelet help run", ownCommand(line, "config", ["validate"]));
    }
  },
};

/** Settings without effect, such as misspelled variables and flags of the original program. */
export const warningsCheck: ProgramCheck = {
  name: "configuration.warnings",
  async run({ loaded }) {
    const { warnings } = await loaded.needed();
    if (warnings.length === 0) return [pass("every setting has an effect")];
    return warnings.map((text) => warn(text, withoutSetting(text)));
  },
};

/** @param text - a warning that begins with the name of a flag or a variable */
function withoutSetting(text: string): string {
  const [name = ""] = text.split(" ", 1);
  return name.startsWith("--") ? `# remove ${name} from the command line` : `unset ${name}`;
}

/** Files and addresses that the settings name. */
export const filesCheck: ProgramCheck = {
  name: "configuration.files",
  async run({ loaded, context, line }) {
    const settings = await loaded.needed();
    const judgements = [
      ...(hasKubeletApi(settings.settings) ? await problemsOfFiles(settings, context) : []),
      ...(await refusalsOf(
        () => checkAddress(settings, "health"),
        ["# choose another address with --health-addr, or off", ownCommand(line, "config", ["validate"])],
      )),
      ...(await refusalsOf(
        () => checkAddress(settings, "debug"),
        ["# choose another address with --debug-addr, or off", ownCommand(line, "config", ["validate"])],
      )),
    ].filter((judgement) => !isOwnServer(judgement));
    return judgements.length > 0 ? judgements : [pass("files and folders that the settings name can be used")];
  },
};

async function problemsOfFiles(loaded: LoadedSettings, context: Context): Promise<Judgement[]> {
  const repair = ["# correct the file or the setting; virtual-kubelet help run explains it"];
  return [
    ...(await refusalsOf(() => checkClientCa(loaded, context), repair)),
    ...(await refusalsOf(() => checkServingCertificate(loaded, context), repair)),
  ];
}

/** Beside a running program, these addresses are in use by that program. */
function isOwnServer({ status, message }: Judgement): boolean {
  return status === "warn" && message.includes("EADDRINUSE");
}

async function refusalsOf(check: () => Promise<string | void>, repair: readonly string[]): Promise<Judgement[]> {
  try {
    const warning = await check();
    return warning === undefined ? [] : [warn(warning, ...repair)];
  } catch (error) {
    return refusals(error, ...repair);
  }
}

/** One failure for each line of a ConfigError. @throws every other error */
export function refusals(error: unknown, ...repair: readonly string[]): Judgement[] {
  if (!(error instanceof ConfigError)) throw error;
  return messageOf(error)
    .split("\n")
    .map((text) => fail(text, ...repair));
}

function hasKubeletApi({ nodes }: Settings): boolean {
  return nodes.some(({ kubeletPort }) => kubeletPort !== 0);
}

/** Who may use the kubelet's API. */
export const accessCheck: ProgramCheck = {
  name: "configuration.access",
  run: async ({ loaded }: Facts) => [judgeAccess((await loaded.needed()).settings.kubelet)],
};

/** Judges the settings that open the kubelet's API. */
export function judgeAccess({
  anonymousAuth,
  authorizationMode,
}: Pick<Settings["kubelet"], "anonymousAuth" | "authorizationMode">): Judgement {
  const close = "# remove --anonymous-auth and --authorization-mode=AlwaysAllow";
  if (authorizationMode === "AlwaysAllow")
    return warn(
      `INSECURE: everybody ${anonymousAuth ? "who can reach the kubelet's API" : "with credentials of the cluster"} may run commands in every pod`,
      close,
    );
  if (anonymousAuth) return warn("callers without credentials may do everything that the cluster allows system:anonymous", close);
  return pass("the API server decides who may use the kubelet's API");
}
