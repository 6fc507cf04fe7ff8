import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

/** The models of `@kubernetes/client-node`. */
export interface Models {
  /** Version of client-node. */
  readonly version: string;
  /** Returns the declaration file of the model with a name such as `V1Pod`. */
  read(name: string): string;
}

/** What stands for a type of client-node that is not a model, in the API's JSON. */
const scalars: Readonly<Record<string, string>> = { Date: "string", V1MicroTime: "string", IntOrString: "number | string" };

/** Returns the models of the client-node that a package depends on. */
export function modelsOf(packageFolder: string): Models {
  const folder = join(packageFolder, "node_modules/@kubernetes/client-node");
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string };
  return { version, read: (name) => readFileSync(join(folder, `dist/gen/models/${name}.d.ts`), "utf8") };
}

/**
 * Replaces `interface Pod extends Wire<k8s.V1Pod> {}` in a declaration file by an interface with the model's fields, as `Wire` maps them, and
 * adds the models that these refer to. The result does not refer to client-node, which has 55 MB, and editors show its interfaces in full.
 *
 * @throws Error naming what has another form than the generator of client-node writes
 */
export function writeOutModels(declarations: string, { version, read }: Models): string {
  const file = parse("objects.d.ts", declarations);
  const namesOfOurs = new Map<string, string>();
  for (const statement of file.statements) {
    const model = modelOf(statement, file);
    if (model !== undefined) namesOfOurs.set(model, (statement as ts.InterfaceDeclaration).name.text);
  }
  const nameOf = (model: string): string => namesOfOurs.get(model) ?? model;
  const pending = new Set<string>();
  const written = file.statements.map((statement) => {
    const model = modelOf(statement, file);
    if (model !== undefined) return interfaceOf(model, read(model), nameOf, pending);
    return isImportOfModels(statement) ? "" : statement.getFullText(file).trimStart();
  });
  // A set's iteration reaches what is added on the way.
  for (const model of pending) if (!namesOfOurs.has(model)) written.push(interfaceOf(model, read(model), nameOf, pending));
  return `${notice(version)}\n${written.filter((text) => text !== "").join("\n")}\n`;
}

/** As the Apache License requires it of changed copies. */
function notice(version: string): string {
  return `// The interfaces with fields are models of @kubernetes/client-node ${version}, Copyright The Kubernetes Authors, Apache License 2.0 (see
// LICENSE), changed to the API's JSON.`;
}

function parse(name: string, text: string): ts.SourceFile {
  return ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
}

function isImportOfModels(statement: ts.Statement): boolean {
  return (
    ts.isImportDeclaration(statement) &&
    ts.isStringLiteral(statement.moduleSpecifier) &&
    statement.moduleSpecifier.text === "@kubernetes/client-node"
  );
}

/** Name of the model in `interface Pod extends Wire<k8s.V1Pod> {}`; `undefined` for any other statement. */
function modelOf(statement: ts.Statement, file: ts.SourceFile): string | undefined {
  if (!ts.isInterfaceDeclaration(statement)) return undefined;
  const parent = statement.heritageClauses?.[0]?.types[0]?.getText(file);
  return parent === undefined ? undefined : /^Wire<k8s\.(\w+)>$/.exec(parent)?.[1];
}

/** The interface for a model's class, with its comments. */
function interfaceOf(model: string, text: string, nameOf: (model: string) => string, pending: Set<string>): string {
  const file = parse(`${model}.d.ts`, text);
  const declared = file.statements.find((statement) => ts.isClassDeclaration(statement));
  if (declared?.name?.text !== model) throw new Error(`client-node's ${model}.d.ts declares no class ${model}`);
  const typeOf = (type: ts.TypeNode): string => {
    if (ts.isTypeReferenceNode(type)) {
      const name = type.typeName.getText(file);
      const [argument] = type.typeArguments ?? [];
      if (name === "Array" && argument !== undefined) return `${typeOf(argument)}[]`.replace(/^(.* \| .*)\[\]$/, "($1)[]");
      if (scalars[name] !== undefined) return scalars[name];
      if (argument === undefined) {
        pending.add(name);
        return nameOf(name);
      }
    }
    if (ts.isTypeLiteralNode(type)) {
      const [member] = type.members;
      if (member !== undefined && type.members.length === 1 && ts.isIndexSignatureDeclaration(member))
        return `{ [key: string]: ${typeOf(member.type)} }`;
    }
    if (["string", "number", "boolean", "any"].includes(type.getText(file))) return type.getText(file);
    throw new Error(`client-node's ${model} has a field of type ${type.getText(file)}, which this program cannot translate`);
  };
  const fields = declared.members.flatMap((member) => {
    if (!ts.isPropertyDeclaration(member) || member.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword)) return [];
    if (!ts.isStringLiteral(member.name) || member.type === undefined)
      throw new Error(`client-node's ${model} has a field without name or type`);
    const key = propertyName(member.name.text.replace(/^_/, ""));
    const optional = member.questionToken === undefined ? "" : "?";
    return [`${commentOf(member, file, "    ")}    ${key}${optional}: ${typeOf(member.type)}${optional && " | undefined"};`];
  });
  return [`${commentOf(declared, file, "")}export interface ${nameOf(model)} {`, ...fields, "}"].join("\n");
}

function propertyName(name: string): string {
  return /^[A-Za-z$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** The comment directly before a declaration, with the line's end; empty if there is none. */
function commentOf(node: ts.Node, file: ts.SourceFile, indent: string): string {
  const text = file.text;
  const range = ts.getLeadingCommentRanges(text, node.getFullStart())?.at(-1);
  if (range === undefined) return "";
  // Client-node's generator escapes quotes.
  const lines = text
    .slice(range.pos, range.end)
    .replaceAll(/\\(["'])/g, "$1")
    .split("\n");
  const [first = "", ...more] = lines.map((line) => line.trim());
  if (!first.startsWith("/**")) return "";
  const [only] = more;
  if (more.length === 2 && only !== undefined) return `${indent}/** ${only.replace(/^\* ?/, "")} */\n`;
  return `${[first, ...more.map((line) => ` ${line}`)].map((line) => indent + line).join("\n")}\n`;
}
