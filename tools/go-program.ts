import { dirname, join } from "node:path";
import { isExecutable } from "../packages/testing/src/control-plane/find-control-plane.ts";
import { buildBeside } from "./build-beside.ts";
import { findGo, GoModule, type Environment } from "./go-module.ts";

/** Options of a {@link GoProgram}. */
export interface GoProgramSource {
  /** Name of the program, and of its module's folder in `tools/`. */
  readonly name: string;
  /** Environment variable that may name a built program. */
  readonly variable: string;
  /** Subcommand of `go` that builds it, such as `build`. */
  readonly command: readonly string[];
  /** Path of its package. */
  readonly package: string;
}

/** A program that tests need, built once from its Go module unless the environment names a built one. */
export class GoProgram {
  readonly #source: GoProgramSource;
  readonly #module: GoModule;

  constructor(source: GoProgramSource) {
    this.#source = source;
    this.#module = new GoModule(source.name);
  }

  /** Reason why the program is not available, and how to get it; `undefined` if it is available. */
  missing(environment: Environment = process.env): string | undefined {
    if (isExecutable(this.#path(environment)) || findGo(environment) !== undefined) return undefined;
    const { name, variable } = this.#source;
    return `there is no Go on the PATH to build ${name} with (https://go.dev/dl, 1.26 or newer); install it, or set ${variable} to the program`;
  }

  /**
   * Returns the path of the program. Builds it first if needed, which takes some minutes.
   *
   * @throws Error if it cannot be built, with Go's words
   */
  async ensure(environment: Environment = process.env): Promise<string> {
    const program = this.#path(environment);
    if (isExecutable(program)) return program;
    const go = findGo(environment);
    if (go === undefined) throw new Error(this.missing(environment));
    const { name, command, package: path } = this.#source;
    console.log(`${name} is built once with ${go} into ${dirname(program)}: some minutes`);
    await buildBeside(dirname(program), (output) =>
      this.#module.build(go, [...command, "-o", join(output, name), "-ldflags", "-s -w", path]),
    );
    return program;
  }

  #path(environment: Environment): string {
    const { name, variable } = this.#source;
    return environment[variable] || join(this.#module.builtFolder(environment), name);
  }
}

/** metrics-server, for tests of `kubectl top` and an autoscaler. */
export const metricsServer: GoProgram = new GoProgram({
  name: "metrics-server",
  variable: "METRICS_SERVER",
  command: ["build"],
  package: "sigs.k8s.io/metrics-server/cmd/metrics-server",
});

/** The parser with which Prometheus reads metrics. */
export const prometheusParser: GoProgram = new GoProgram({
  name: "prometheus-parser",
  variable: "PROMETHEUS_PARSER",
  command: ["build"],
  package: ".",
});

/** Prometheus' tool that checks rules and runs their tests. */
export const promtool: GoProgram = new GoProgram({
  name: "promtool",
  variable: "PROMTOOL",
  command: ["build"],
  package: "github.com/prometheus/prometheus/cmd/promtool",
});

/** The parser of PromQL that Prometheus uses. */
export const promqlParser: GoProgram = new GoProgram({
  name: "promql-parser",
  variable: "PROMQL_PARSER",
  command: ["build"],
  package: ".",
});

/** A collector of logs with its stock configuration for Kubernetes. */
export const logShipper: GoProgram = new GoProgram({
  name: "log-shipper",
  variable: "LOG_SHIPPER",
  command: ["build"],
  package: ".",
});

/** Grafana's collector of logs, which its makers no longer maintain. */
export const promtail: GoProgram = new GoProgram({
  name: "promtail",
  variable: "PROMTAIL",
  command: ["build"],
  package: "github.com/grafana/loki/v3/clients/cmd/promtail",
});

/** Helm, with which the chart is tested. */
export const helm: GoProgram = new GoProgram({
  name: "helm",
  variable: "HELM",
  command: ["build"],
  package: "helm.sh/helm/v4/cmd/helm",
});

/** The end-to-end suite of Virtual Kubelet in Go. */
export const upstreamE2e: GoProgram = new GoProgram({
  name: "upstream-e2e",
  variable: "UPSTREAM_E2E",
  command: ["test", "-c"],
  package: ".",
});
