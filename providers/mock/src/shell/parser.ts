import { tokenize, type Token } from "./lexer.ts";
import { SyntaxProblem, type Command, type Pipeline, type Redirect, type RedirectedCommand, type Script, type Word } from "./syntax.ts";

const closers: ReadonlySet<string> = new Set(["then", "elif", "else", "fi", "do", "done", "}"]);
const redirectActions: Readonly<Record<string, Redirect["action"]>> = {
  "<": "read",
  ">": "write",
  ">>": "append",
  ">&": "duplicate",
  "<&": "duplicate",
};

/** Parses a script. @throws SyntaxProblem worded as a shell does */
export function parseScript(text: string): Script {
  const parser = new Parser(tokenize(text));
  const script = parser.script();
  parser.expectEnd();
  return script;
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  script(): Script {
    const script: { join: ";" | "&&" | "||"; pipeline: Pipeline }[] = [];
    let join: ";" | "&&" | "||" = ";";
    for (;;) {
      while (this.#isOperator(";")) this.#at++;
      if (this.#peek() === undefined || this.#isOperator(")") || this.#isCloser()) {
        if (join !== ";") this.#fail();
        return script;
      }
      script.push({ join, pipeline: this.#pipeline() });
      if (this.#isOperator("&")) throw new SyntaxProblem("& is not supported: this shell has no background jobs");
      join = this.#isOperator("&&") ? "&&" : this.#isOperator("||") ? "||" : ";";
      if (join !== ";") this.#at++;
      else if (this.#peek() !== undefined && !this.#isOperator(";") && !this.#isOperator(")")) this.#fail();
    }
  }

  expectEnd(): void {
    if (this.#peek() !== undefined) this.#fail();
  }

  #pipeline(): Pipeline {
    const negated = this.#takeWord("!");
    const commands = [this.#command()];
    while (this.#isOperator("|")) {
      this.#at++;
      while (this.#isOperator(";")) this.#at++;
      commands.push(this.#command());
    }
    return { negated, commands };
  }

  #command(): RedirectedCommand {
    const redirects: Redirect[] = [];
    const command = this.#compound() ?? this.#simple(redirects);
    for (let redirect = this.#redirect(); redirect; redirect = this.#redirect()) redirects.push(redirect);
    return { command, redirects };
  }

  #compound(): Command | undefined {
    if (this.#isOperator("(")) {
      this.#at++;
      const body = this.script();
      if (!this.#isOperator(")")) this.#fail();
      this.#at++;
      return { kind: "group", body, ownShell: true };
    }
    if (this.#takeWord("{")) return { kind: "group", body: this.#scriptThen("}"), ownShell: false };
    if (this.#takeWord("if")) return this.#if();
    if (this.#takeWord("for")) return this.#for();
    for (const word of ["while", "until"] as const) {
      if (this.#takeWord(word))
        return { kind: "while", until: word === "until", condition: this.#scriptThen("do"), body: this.#scriptThen("done") };
    }
    return undefined;
  }

  #if(): Command {
    const branches = [{ condition: this.#scriptThen("then"), body: this.script() }];
    while (this.#takeWord("elif")) branches.push({ condition: this.#scriptThen("then"), body: this.script() });
    const otherwise = this.#takeWord("else") ? this.script() : [];
    if (!this.#takeWord("fi")) this.#fail();
    return { kind: "if", branches, otherwise };
  }

  #for(): Command {
    const name = this.#peek();
    if (name?.kind !== "word" || name.plain === undefined) return this.#fail();
    this.#at++;
    let words: Word[] | undefined;
    if (this.#takeWord("in")) {
      words = [];
      for (let token = this.#peek(); token?.kind === "word"; token = this.#peek()) {
        words.push(token.word);
        this.#at++;
      }
    }
    while (this.#isOperator(";")) this.#at++;
    if (!this.#takeWord("do")) this.#fail();
    return { kind: "for", name: name.plain, words, body: this.#scriptThen("done") };
  }

  #simple(redirects: Redirect[]): Command {
    const assignments: [string, Word][] = [];
    const words: Word[] = [];
    for (;;) {
      const redirect = this.#redirect();
      if (redirect) {
        redirects.push(redirect);
        continue;
      }
      const token = this.#peek();
      if (token?.kind !== "word") break;
      this.#at++;
      const assignment = words.length === 0 ? toAssignment(token.word) : undefined;
      if (assignment) assignments.push(assignment);
      else words.push(token.word);
    }
    if (words.length + assignments.length + redirects.length === 0) this.#fail();
    return { kind: "simple", assignments, words };
  }

  #redirect(): Redirect | undefined {
    const first = this.#peek();
    if (first?.kind !== "operator") return undefined;
    const isDescriptor = /^[012]$/.test(first.text);
    const operator = isDescriptor ? this.#tokens[this.#at + 1] : first;
    const action = operator?.kind === "operator" ? redirectActions[operator.text] : undefined;
    if (action === undefined) return undefined;
    this.#at += isDescriptor ? 2 : 1;
    const target = this.#peek();
    if (target?.kind !== "word") return this.#fail();
    this.#at++;
    const standard = operator?.kind === "operator" && operator.text.startsWith("<") ? 0 : 1;
    return { descriptor: isDescriptor ? (Number(first.text) as 0 | 1 | 2) : standard, action, target: target.word };
  }

  #scriptThen(word: string): Script {
    const script = this.script();
    if (!this.#takeWord(word)) this.#fail();
    return script;
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#at];
  }

  #isOperator(text: string): boolean {
    const token = this.#peek();
    return token?.kind === "operator" && token.text === text;
  }

  #isCloser(): boolean {
    const token = this.#peek();
    return token?.kind === "word" && token.plain !== undefined && closers.has(token.plain);
  }

  #takeWord(text: string): boolean {
    const token = this.#peek();
    if (token?.kind !== "word" || token.plain !== text) return false;
    this.#at++;
    return true;
  }

  #fail(): never {
    const token = this.#peek();
    if (token === undefined) throw new SyntaxProblem("syntax error: unexpected end of file", { unfinished: true });
    throw new SyntaxProblem(`syntax error: unexpected ${JSON.stringify(token.kind === "operator" ? token.text : (token.plain ?? "word"))}`);
  }
}

function toAssignment(word: Word): [string, Word] | undefined {
  const [first, ...rest] = word;
  if (first?.kind !== "text" || first.quoted) return undefined;
  const match = /^([A-Za-z_]\w*)=([^]*)$/.exec(first.text);
  if (!match) return undefined;
  const [, name = "", value = ""] = match;
  return [name, [...(value === "" ? [] : [{ ...first, text: value }]), ...rest]];
}
