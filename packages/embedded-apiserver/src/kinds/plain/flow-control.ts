import type { Column, Kind } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { plainKind, textColumn } from "./plain-kind.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/flowcontrol/v1/defaults.go and pkg/printers/internalversion. */

const group = "flowcontrol.apiserver.k8s.io";

const limitColumn = (
  name: string,
  read: (limited: Readonly<Record<string, number>>, queuing?: Readonly<Record<string, number>>) => number | undefined,
): Column => ({
  name,
  type: "string",
  description: `The level's ${name}.`,
  cell: ({ spec }) => (spec.limited === undefined ? "<none>" : (read(spec.limited, spec.limited.limitResponse?.queuing) ?? "<none>")),
});

/** Priority levels and flow schemas. They are stored, but requests are not queued. */
export const flowControlKinds: readonly Kind[] = [
  plainKind({
    group,
    kind: "FlowSchema",
    plural: "flowschemas",
    namespaced: false,
    hasStatus: true,
    counted: ["spec"],
    applyDefaults({ spec }) {
      spec.matchingPrecedence ||= 1000;
    },
    columns: [
      nameColumn,
      textColumn("PriorityLevel", "The level of its requests.", ({ spec }) => spec.priorityLevelConfiguration.name),
      { name: "MatchingPrecedence", type: "string", description: "Lower ones come first.", cell: ({ spec }) => spec.matchingPrecedence },
      textColumn("DistinguisherMethod", "How its flows are told apart.", ({ spec }) => spec.distinguisherMethod?.type ?? "<none>"),
      ageColumn,
      textColumn("MissingPL", "Whether its level is missing.", ({ status }) => {
        const conditions: { type: string; status: string }[] = status.conditions ?? [];
        return conditions.find(({ type }) => type === "Dangling")?.status ?? "?";
      }),
    ],
  }),
  plainKind({
    group,
    kind: "PriorityLevelConfiguration",
    plural: "prioritylevelconfigurations",
    namespaced: false,
    hasStatus: true,
    counted: ["spec"],
    applyDefaults({ spec }) {
      if (spec.exempt !== undefined) spec.exempt = { nominalConcurrencyShares: 0, lendablePercent: 0, ...spec.exempt };
      if (spec.limited === undefined) return;
      spec.limited.nominalConcurrencyShares ??= 30;
      spec.limited.lendablePercent ??= 0;
      const queuing = spec.limited.limitResponse?.queuing;
      if (queuing === undefined) return;
      queuing.handSize ||= 8;
      queuing.queues ||= 64;
      queuing.queueLengthLimit ||= 50;
    },
    columns: [
      nameColumn,
      textColumn("Type", "Whether requests are limited.", ({ spec }) => spec.type),
      limitColumn("NominalConcurrencyShares", ({ nominalConcurrencyShares }) => nominalConcurrencyShares),
      limitColumn("Queues", (_limited, queuing) => queuing?.["queues"]),
      limitColumn("HandSize", (_limited, queuing) => queuing?.["handSize"]),
      limitColumn("QueueLengthLimit", (_limited, queuing) => queuing?.["queueLengthLimit"]),
      ageColumn,
    ],
  }),
];
