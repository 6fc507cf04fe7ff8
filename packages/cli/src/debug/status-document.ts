import type { NodeInspection, PodInspection, PodQuery } from "@virtual-kubelet/core";
import { nodeWords, podWords, programWords, type NodeWords, type PodWords, type ProgramState } from "./status-words.ts";

/** Version of {@link StatusDocument}. It grows when a field changes its meaning or goes; new fields do not change it. */
export const statusVersion = 1;

/**
 * The program's state at one moment, as its socket and its page have it. Durations are in milliseconds, and begin or end at that moment.
 * Fields that are not known are absent. `shown` says the same in words, for people.
 */
export interface StatusDocument {
  readonly version: typeof statusVersion;
  /** Time of the snapshot by the program's clock, in RFC 3339. */
  readonly takenAt: string;
  readonly program: ProgramStatus;
  readonly nodes: readonly NodeStatus[];
}

/** The program, also in words. */
interface ProgramStatus extends ProgramState {
  readonly shown: string;
}

/** A node, also in words. */
export interface NodeStatus extends NodeInspection {
  readonly shown: NodeWords;
  readonly pods: readonly PodStatus[];
}

/** A pod, also in words. */
export interface PodStatus extends PodInspection {
  readonly shown: PodWords;
}

/** Which nodes and pods a snapshot has. The pods' limit and position apply to each node. */
export interface StatusQuery extends PodQuery {
  /** Names of nodes, also those in the settings for nodes that are discovered; empty for all. */
  readonly nodes: readonly string[];
}

/** The running program, as a snapshot is taken of it. */
export interface StatusSource {
  readonly program: () => ProgramState;
  /** Read for each snapshot. `configured` is the name in the settings. */
  readonly nodes: readonly {
    readonly name: string;
    readonly configured?: string;
    readonly node: { inspect(query: PodQuery): NodeInspection };
  }[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Takes a snapshot. */
export function takeStatus({ program, nodes, now }: StatusSource, query: StatusQuery): StatusDocument {
  const isAsked = (name: string | undefined): boolean => name !== undefined && query.nodes.includes(name);
  const asked = nodes.filter(({ name, configured }) => query.nodes.length === 0 || isAsked(name) || isAsked(configured));
  return {
    version: statusVersion,
    takenAt: new Date(now()).toISOString(),
    program: describeProgram(program()),
    nodes: asked.map(({ node }) => describeNode(node.inspect(query))),
  };
}

function describeProgram(program: ProgramState): ProgramStatus {
  return { ...program, shown: programWords(program) };
}

function describeNode(node: NodeInspection): NodeStatus {
  return { ...node, shown: nodeWords(node), pods: node.pods.map((pod) => ({ ...pod, shown: podWords(pod) })) };
}
