import { untilAborted } from "@virtual-kubelet/async";
import type { NodeDescription, ResolvedNodeOptions, Provider, ProviderDefinition } from "@virtual-kubelet/core";
import { isInvalidInput, messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import type { Settings } from "../config/settings.ts";
import type { Context } from "../context.ts";
import { ConfigError } from "../program-error.ts";
import { offlineHost } from "./offline-host.ts";
import type { ProviderSetup } from "./provider-setup.ts";

/** Timeout for creating a provider and for describing its node, in milliseconds. */
const timeoutMs = 10_000;

/** A node's provider before the run. */
export interface TriedNode {
  readonly setup: ProviderSetup;
  readonly options: ResolvedNodeOptions;
}

/** A provider's description of its node, or the `problem` that prevents it. */
export interface TriedDescription {
  readonly description: NodeDescription;
  readonly problem?: string | undefined;
}

/**
 * Creates the provider like a run, and closes it again, which reveals invalid settings. An unreachable back end is not a mistake in the
 * settings.
 *
 * @throws ConfigError with the provider's message about what is missing or wrong
 */
export async function tryProvider(node: TriedNode, settings: Settings, context: Context): Promise<void> {
  await withProvider(node, settings, context, async () => undefined).catch((error: unknown) => {
    context.signal.throwIfAborted();
    if (isRefusal(error)) throw providerConfigError(node, error);
  });
}

/** Creates the provider only to ask for the description of its node. */
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

/** Errors of the steps that only read; `undefined` for a step that succeeded or was not reached. */
export interface AccessTrial {
  /** Why the provider cannot be created. */
  readonly created?: unknown;
  /** Why the back end does not answer, or refuses the credentials. */
  readonly answered?: unknown;
  /** Why the node cannot be described. */
  readonly described?: unknown;
  /** What does not work although the node runs; see `NodeProvider.checkAccess`. */
  readonly warnings?: readonly string[] | undefined;
}

/**
 * Creates the provider, asks its back end whether it answers, and asks for a description of the node. Changes nothing.
 *
 * @param clusterId - the cluster's; `undefined` if it is not known
 */
export async function tryAccess(
  node: TriedNode,
  settings: Settings,
  context: Context,
  clusterId: string | undefined,
): Promise<AccessTrial> {
  try {
    const trial = async (provider: Provider, signal: AbortSignal): Promise<AccessTrial> => {
      let warnings: readonly string[] | undefined;
      const answered = await problemOf(async () => {
        if (provider.checkAccess) warnings = await provider.checkAccess(signal);
        else await provider.ping?.(signal);
      });
      if (answered !== undefined) return { answered };
      return { warnings, described: await problemOf(() => provider.configureNode?.(signal)) };
    };
    return await withProvider(node, settings, context, trial, clusterId);
  } catch (error) {
    context.signal.throwIfAborted();
    return { created: error };
  }
}

async function problemOf(step: () => Promise<unknown> | undefined): Promise<unknown> {
  try {
    await step();
    return undefined;
  } catch (error) {
    return error ?? new Error("no reason was given");
  }
}

/** Wraps the provider so that its rejection of its settings ends the program like every invalid setting. */
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

/** System errors about files that are missing or unreadable: a restart does not help. */
const fileErrorCodes: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "EISDIR", "EACCES", "EPERM", "ELOOP", "ENAMETOOLONG"]);

/** Whether a provider rejects its settings, or does not find a file that they name. A missing socket is an unreachable back end instead. */
function isRefusal(error: unknown): boolean {
  if (isInvalidInput(error)) return true;
  if (!(error instanceof Error) || !("code" in error) || !("path" in error)) return false;
  return fileErrorCodes.has(error.code) && !("syscall" in error && error.syscall === "connect");
}

/** A provider's rejection of its settings, on one line. */
function providerConfigError({ setup, options }: TriedNode, error: unknown): ConfigError {
  const message = messageOf(error).replaceAll("\n", " ");
  return new ConfigError(`node ${options.name}, provider ${setup.definition.name}: ${message}`, { cause: error });
}

async function withProvider<T>(
  { setup, options }: TriedNode,
  settings: Settings,
  context: Context,
  use: (provider: Provider, signal: AbortSignal) => Promise<T>,
  clusterId?: string,
): Promise<T> {
  const { clock } = context;
  const deadline = new AbortController();
  using _timer = clock.setTimer(timeoutMs, () => deadline.abort(new UnavailableError(`no answer within ${timeoutMs / 1000} s`)));
  const signal = AbortSignal.any([context.signal, deadline.signal]);
  const making = Promise.resolve(setup.definition.create(offlineHost(options, settings, context, clusterId), parsedConfig(setup)));
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
