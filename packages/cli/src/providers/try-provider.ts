import { untilAborted } from "@virtual-kubelet/async";
import type { NodeDescription, NodeOptions, Provider, ProviderDefinition } from "@virtual-kubelet/core";
import { isInvalidInput, messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import type { Settings } from "../config/settings.ts";
import type { Context } from "../context.ts";
import { ConfigError } from "../program-error.ts";
import { offlineHost } from "./offline-host.ts";
import type { ProviderSetup } from "./provider-setup.ts";

/** How long a provider may take to be made and to describe its node, in milliseconds. */
const timeoutMs = 10_000;

/** A node's provider, before it runs. */
export interface TriedNode {
  readonly setup: ProviderSetup;
  readonly options: NodeOptions;
}

/** What a provider says of its node; `problem` is why it does not. */
export interface TriedDescription {
  readonly description: NodeDescription;
  readonly problem?: string | undefined;
}

/**
 * Makes the provider as a run would, and closes it again. What is wrong with its settings shows here at the latest. A back end that
 * is away is no mistake in the settings.
 *
 * @throws ConfigError with the provider's words for what is missing or wrong
 */
export async function tryProvider(node: TriedNode, settings: Settings, context: Context): Promise<void> {
  await withProvider(node, settings, context, async () => undefined).catch((error: unknown) => {
    context.signal.throwIfAborted();
    if (isRefusal(error)) throw providerConfigError(node, error);
  });
}

/** Asks a provider to describe its node, and for nothing else. */
export async function tryDescription(node: TriedNode, settings: Settings, context: Context): Promise<TriedDescription> {
  try {
    return {
      description: await withProvider(node, settings, context, async (provider, signal) => (await provider.configureNode?.(signal)) ?? {}),
    };
  } catch (error) {
    context.signal.throwIfAborted();
    return { description: {}, problem: messageOf(error).split("\n", 1)[0] ?? "" };
  }
}

/** The provider, whose refusal of its settings ends the program as every wrong setting does. */
export function refusingDefinition(node: TriedNode): ProviderDefinition {
  const { definition } = node.setup;
  return {
    ...definition,
    async create(host, config) {
      try {
        return await definition.create(host, config);
      } catch (error) {
        throw isRefusal(error) ? providerConfigError(node, error) : error;
      }
    },
  };
}

/** Codes of the system for a file that is not there, is no file, or may not be read: starting again does not help. */
const fileErrorCodes: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "EISDIR", "EACCES", "EPERM", "ELOOP", "ENAMETOOLONG"]);

/** Whether a provider refuses its settings, or finds no file that they name. A socket that is not there is a back end that is away. */
function isRefusal(error: unknown): boolean {
  if (isInvalidInput(error)) return true;
  if (!(error instanceof Error) || !("code" in error) || !("path" in error)) return false;
  return fileErrorCodes.has(error.code) && !("syscall" in error && error.syscall === "connect");
}

/** A provider's refusal of its settings, in one line. */
function providerConfigError({ setup, options }: TriedNode, error: unknown): ConfigError {
  const message = messageOf(error).replaceAll("\n", " ");
  return new ConfigError(`node ${options.name}, provider ${setup.definition.name}: ${message}`, { cause: error });
}

async function withProvider<T>(
  { setup, options }: TriedNode,
  settings: Settings,
  context: Context,
  use: (provider: Provider, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock } = context;
  const deadline = new AbortController();
  using _timer = clock.setTimer(timeoutMs, () => deadline.abort(new UnavailableError(`no answer within ${timeoutMs / 1000} s`)));
  const signal = AbortSignal.any([context.signal, deadline.signal]);
  const making = Promise.resolve(setup.definition.create(offlineHost(options, settings, context), parsedConfig(setup)));
  const using = making.then(async (provider) => {
    try {
      return await use(provider, signal);
    } finally {
      await provider[Symbol.asyncDispose]?.();
    }
  });
  return await untilAborted(using, signal);
}

function parsedConfig({ definition, config }: ProviderSetup): unknown {
  const parsed = definition.configSchema.safeParse(config);
  return parsed.success ? parsed.data : config;
}
