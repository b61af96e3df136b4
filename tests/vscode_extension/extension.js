// Files and a kernel over HTTP, as tests/vscode.py answers them: what a folder on disk and the Jupyter extension are to
// a VS Code that is installed.
const vscode = require("vscode");

async function ask(origin, what, uri, body = "") {
    const answer = await fetch(`${origin}/${what}${uri.path}`, {method: "POST", body});
    if (answer.status === 404) throw vscode.FileSystemError.FileNotFound(uri);
    return answer;
}

exports.activate = ({extensionUri, subscriptions}) => {
    const origin = `${extensionUri.scheme}://${extensionUri.authority}`;
    const json = async (what, uri, body) => (await ask(origin, what, uri, body)).json();
    const never = () => { throw vscode.FileSystemError.NoPermissions(); };
    const files = {
        onDidChangeFile: new vscode.EventEmitter().event,
        watch: () => new vscode.Disposable(() => {}),
        stat: (uri) => json("stat", uri),
        readDirectory: (uri) => json("list", uri),
        readFile: async (uri) => new Uint8Array(await (await ask(origin, "read", uri)).arrayBuffer()),
        writeFile: (uri, bytes) => ask(origin, "write", uri, bytes),
        createDirectory: never, delete: never, rename: never,
    };
    subscriptions.push(vscode.workspace.registerFileSystemProvider("course", files));

    const kernel = vscode.notebooks.createNotebookController("course", "jupyter-notebook", "The course's Python");
    const item = (mime, data) => new vscode.NotebookCellOutputItem(new TextEncoder().encode(data), mime);
    const shown = (output) => new vscode.NotebookCellOutput(
        output.output_type === "stream" ? [vscode.NotebookCellOutputItem[output.name](output.text)]
            : output.output_type === "error" ? [vscode.NotebookCellOutputItem.error(
                {name: output.ename, message: output.evalue, stack: output.traceback.join("\n")})]
                : Object.entries(output.data).map(([mime, data]) => item(mime, data)));
    kernel.supportedLanguages = ["python"];
    kernel.supportsExecutionOrder = true;
    kernel.executeHandler = async (cells, notebook) => {
        for (const cell of cells) {
            const run = kernel.createNotebookCellExecution(cell);
            run.start(Date.now());
            const {outputs, count} = await json("run", notebook.uri, cell.document.getText());
            run.executionOrder = count;
            await run.replaceOutput(outputs.map(shown));
            run.end(!outputs.some((output) => output.output_type === "error"), Date.now());
        }
    };
    subscriptions.push(kernel);
};
