import { posix } from "node:path";
import { FileError } from "../files/memory-node.ts";
import { pathOf, UsageError, type CommandContext, type Machine, type Streams } from "./command.ts";
import { commands } from "./commands/command-table.ts";
import { openInput } from "./commands/text-commands.ts";
import { expandText, expandWords, type Expander } from "./expand.ts";
import { parseScript } from "./parser.ts";
import { ExitSignal, LoopSignal } from "./signals.ts";
import { BrokenPipeError, Collector, emptyInput, Pipe, toBytes, type Output } from "./streams.ts";
import { SyntaxProblem, type Command, type Pipeline, type Redirect, type RedirectedCommand, type Script } from "./syntax.ts";

/** A command that reads or changes the shell that runs it. */
export type Builtin = (shell: Shell, context: CommandContext) => Promise<number>;

export interface ShellOptions {
  /** By name. */
  readonly builtins: Readonly<Record<string, Builtin>>;
  readonly machine: Machine;
  readonly env: ReadonlyMap<string, string>;
  readonly directory: string;
  readonly signal: AbortSignal;
  /** `$0` and the parameters after it. */
  readonly parameters?: readonly string[] | undefined;
}

/** All processes have the same ID here. */
const processId = "7";

/** A small POSIX shell over files in memory, without patterns, functions, jobs and here-documents. */
export class Shell {
  directory: string;
  lastCode = 0;
  readonly parameters: string[];
  readonly #name: string;
  readonly #options: ShellOptions;
  readonly #variables: Map<string, string>;
  readonly #exported: Set<string>;
  #signal: AbortSignal;
  #turns = 0;

  constructor(options: ShellOptions) {
    this.#options = options;
    this.#signal = options.signal;
    this.directory = options.directory;
    this.#variables = new Map(options.env);
    this.#exported = new Set(options.env.keys());
    const [name = "sh", ...parameters] = options.parameters ?? [];
    this.#name = name;
    this.parameters = parameters;
  }

  /** Runs a script to its end. @returns its exit code */
  async runAll(text: string, streams: Streams): Promise<number> {
    try {
      return await this.runText(text, streams);
    } catch (error) {
      if (error instanceof ExitSignal) return error.exitCode;
      if (error instanceof LoopSignal) return 0;
      throw error;
    }
  }

  /** Runs a script in the current shell, so that `exit` ends the shell. @throws ExitSignal */
  async runText(text: string, streams: Streams): Promise<number> {
    try {
      await this.#script(parseScript(text), streams);
    } catch (error) {
      if (!(error instanceof SyntaxProblem)) throw error;
      await streams.stderr.write(`sh: ${error.message}\n`);
      this.lastCode = 2;
    }
    return this.lastCode;
  }

  /** Runs one command without expanding its words. */
  async runWords(args: readonly string[], streams: Streams, env: ReadonlyMap<string, string> = this.environment()): Promise<number> {
    const { machine, builtins } = this.#options;
    const signal = this.#signal;
    signal.throwIfAborted();
    const name = args[0] ?? "";
    const context = { ...streams, args, env, directory: this.directory, machine, signal };
    const base = /^(\/usr)?(\/local)?\/s?bin\/[^/]+$/.test(name) ? posix.basename(name) : name;
    const builtin = Object.hasOwn(builtins, base) ? builtins[base] : undefined;
    const command = Object.hasOwn(commands, base) ? commands[base] : undefined;
    try {
      if (builtin) return await builtin(this, context);
      if (command) return await command(context);
    } catch (error) {
      // Like SIGPIPE, this ends the shell as well; otherwise a loop would write forever.
      if (error instanceof BrokenPipeError) throw new ExitSignal(141);
      if (!(error instanceof FileError) && !(error instanceof UsageError)) throw error;
      await streams.stderr.write(`${name}: ${error.message}\n`);
      return error instanceof UsageError ? 2 : 1;
    }
    await streams.stderr.write(`sh: ${name}: not found\n`);
    return 127;
  }

  variable(name: string): string | undefined {
    if (name === "?") return String(this.lastCode);
    if (name === "$" || name === "!") return processId;
    if (name === "#") return String(this.parameters.length);
    if (name === "0") return this.#name;
    return /^\d$/.test(name) ? this.parameters[Number(name) - 1] : this.#variables.get(name);
  }

  set(name: string, value: string): void {
    this.#variables.set(name, value);
  }

  unset(name: string): void {
    this.#variables.delete(name);
    this.#exported.delete(name);
  }

  export(name: string): void {
    this.#exported.add(name);
  }

  /** Exported variables, which commands get. */
  environment(): Map<string, string> {
    return new Map([...this.#variables].filter(([name]) => this.#exported.has(name)));
  }

  async #script(script: Script, streams: Streams): Promise<void> {
    for (const { join, pipeline } of script) {
      if (join === "&&" && this.lastCode !== 0) continue;
      if (join === "||" && this.lastCode === 0) continue;
      const code = await this.#pipeline(pipeline, streams);
      this.lastCode = pipeline.negated ? Number(code === 0) : code;
    }
  }

  async #pipeline({ commands: [first, ...rest] }: Pipeline, streams: Streams): Promise<number> {
    if (!first) return 0;
    if (rest.length === 0) return this.#redirected(first, streams);
    let { stdin } = streams;
    const stages = [first, ...rest].map((command, index, all) => {
      const pipe = index < all.length - 1 ? new Pipe() : undefined;
      const own = { stdin, stdout: pipe ?? streams.stdout, stderr: streams.stderr };
      stdin = pipe?.input ?? stdin;
      return this.#stage(command, own, pipe, index > 0);
    });
    return (await Promise.all(stages)).at(-1) ?? 0;
  }

  /** Runs one command of a pipeline in a subshell. */
  async #stage(command: RedirectedCommand, streams: Streams, pipe: Pipe | undefined, ownsInput: boolean): Promise<number> {
    try {
      return await this.#copy().#ended(command, streams);
    } finally {
      pipe?.close();
      if (ownsInput) await streams.stdin.close();
    }
  }

  async #ended(command: RedirectedCommand, streams: Streams): Promise<number> {
    try {
      return await this.#redirected(command, streams);
    } catch (error) {
      if (error instanceof ExitSignal) return error.exitCode;
      throw error;
    }
  }

  #copy(): Shell {
    const copy = new Shell({
      ...this.#options,
      signal: this.#signal,
      directory: this.directory,
      parameters: [this.#name, ...this.parameters],
    });
    copy.#variables.clear();
    for (const [name, value] of this.#variables) copy.#variables.set(name, value);
    for (const name of this.#exported) copy.#exported.add(name);
    copy.lastCode = this.lastCode;
    return copy;
  }

  async #redirected({ command, redirects }: RedirectedCommand, streams: Streams): Promise<number> {
    let own = streams;
    try {
      for (const redirect of redirects) own = await this.#redirect(redirect, own);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      await streams.stderr.write(`sh: ${error.message}\n`);
      return 1;
    }
    return this.#command(command, own);
  }

  async #redirect({ descriptor, action, target }: Redirect, streams: Streams): Promise<Streams> {
    const { machine } = this.#options;
    const text = await expandText(target, this.#expander(streams));
    const names = ["stdin", "stdout", "stderr"] as const;
    if (action === "duplicate") {
      if (text !== "1" && text !== "2") throw new FileError(`${text}: bad file descriptor`);
      return { ...streams, [names[descriptor]]: text === "1" ? streams.stdout : streams.stderr };
    }
    const path = pathOf(this, text);
    const explain = <T>(open: () => T): T => {
      try {
        return open();
      } catch (error) {
        throw error instanceof FileError ? new FileError(`can't open ${text}: ${error.message}`) : error;
      }
    };
    if (action === "read") return { ...streams, stdin: explain(() => openInput({ machine }, path)) };
    const file = explain(() => machine.files.openForWriting(path, { append: action === "append" }));
    const output: Output = { write: async (chunk) => machine.files.append(file, toBytes(chunk)) };
    return { ...streams, [names[descriptor]]: output };
  }

  async #command(command: Command, streams: Streams): Promise<number> {
    switch (command.kind) {
      case "simple":
        return this.#simple(command, streams);
      case "group":
        if (command.ownShell) return this.#copy().#ended({ command: { ...command, ownShell: false }, redirects: [] }, streams);
        await this.#script(command.body, streams);
        return this.lastCode;
      case "if":
        for (const { condition, body } of command.branches) {
          await this.#script(condition, streams);
          if (this.lastCode === 0) return this.#body(body, streams);
        }
        return this.#body(command.otherwise, streams);
      case "while":
        return this.#loop(
          async () => {
            await this.#script(command.condition, streams);
            return (this.lastCode === 0) !== command.until;
          },
          () => this.#script(command.body, streams),
        );
      case "for": {
        const words = command.words ? await expandWords(command.words, this.#expander(streams)) : [...this.parameters];
        return this.#loop(
          async () => words.length > 0,
          async () => {
            this.set(command.name, words.shift() ?? "");
            await this.#script(command.body, streams);
          },
        );
      }
      default:
        return command satisfies never;
    }
  }

  async #body(script: Script, streams: Streams): Promise<number> {
    this.lastCode = 0;
    await this.#script(script, streams);
    return this.lastCode;
  }

  async #loop(goesOn: () => Promise<boolean>, body: () => Promise<void>): Promise<number> {
    let code = 0;
    while (await goesOn()) {
      this.#signal.throwIfAborted();
      // Lets other commands run during a loop of builtins.
      if (++this.#turns % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
      try {
        await body();
        code = this.lastCode;
      } catch (error) {
        if (!(error instanceof LoopSignal)) throw error;
        if (error.levels > 1) throw new LoopSignal(error.kind, error.levels - 1);
        if (error.kind === "break") break;
      }
    }
    return code;
  }

  async #simple({ assignments, words }: Command & { kind: "simple" }, streams: Streams): Promise<number> {
    const expander = this.#expander(streams);
    const args = await expandWords(words, expander);
    const values: [string, string][] = [];
    for (const [name, word] of assignments) values.push([name, await expandText(word, expander)]);
    if (args.length === 0) {
      for (const [name, value] of values) this.set(name, value);
      return values.length > 0 && words.length === 0 ? 0 : this.lastCode;
    }
    return this.runWords(args, streams, new Map([...this.environment(), ...values]));
  }

  #expander(streams: Streams): Expander {
    return {
      variable: (name) => this.variable(name),
      parameters: this.parameters,
      substitute: async (script) => {
        const output = new Collector();
        this.lastCode = await this.#copy().runAll(script, { ...streams, stdin: emptyInput(), stdout: output });
        return output.text;
      },
    };
  }

  /** Creates a subshell with its own environment. */
  nest(env: ReadonlyMap<string, string>, parameters: readonly string[]): Shell {
    return new Shell({ ...this.#options, signal: this.#signal, env, directory: this.directory, parameters });
  }

  /** Runs something that Ctrl-C ends without ending the shell. */
  async interruptible(run: () => Promise<number>): Promise<void> {
    const interrupt = new AbortController();
    const whole = this.#signal;
    this.#signal = AbortSignal.any([whole, interrupt.signal]);
    using _ = this.#options.machine.takeInterrupts(() => interrupt.abort(new ExitSignal(130)));
    try {
      await run();
    } catch (error) {
      whole.throwIfAborted();
      if (!interrupt.signal.aborted) throw error;
      this.lastCode = 130;
    } finally {
      this.#signal = whole;
    }
  }
}
