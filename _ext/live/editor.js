// The editor of a cell: CodeMirror 6 with Python, and the names of the page as completions.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { globalCompletion, localCompletionSource, python } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap, highlightSpecialChars, drawSelection } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

// `label` names it for a screen reader; `names(path)` promises what may follow `np.lin`; `changed(text)` hears of edits.
export function edit(parent, text, { label, names, run, changed }) {
  const dotted = async (context) => {
    const word = context.matchBefore(/[\w.]+/);
    if (!word && !context.explicit) return null;
    const path = word?.text ?? "";
    const options = (await names(path)).map((name) => ({ label: name, type: "variable" }));
    return { from: (word?.from ?? context.pos) + path.lastIndexOf(".") + 1, options, validFor: /^\w*$/ };
  };
  return new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(keymap.of([
          { key: "Shift-Enter", run: () => (run(), true) },
          { key: "Mod-Enter", run: () => (run(), true) },
        ])),
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
        history(), drawSelection(), EditorView.lineWrapping, highlightSpecialChars(), bracketMatching(), closeBrackets(), indentOnInput(),
        indentUnit.of("    "), EditorState.tabSize.of(4), python(), syntaxHighlighting(classHighlighter),
        autocompletion({ override: [dotted, localCompletionSource, globalCompletion] }),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
        EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
      ],
    }),
  });
}
