"""``kontend inspect --tui``: the answers of ``kontend inspect`` in a view of the whole terminal.

The steps are on the left, the answer to a question on the right: by default what there is to say about the selected
step. Keys ask the common questions, ``/`` takes any of them. Needs the extra ``tui``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Footer, Header, Input, OptionList, Static
from textual.widgets.option_list import Option

from kontend.report.document import Document, Step
from kontend.report.text import heading, step_lines

#: Answers a question in text; raises ``ValueError`` or another exception with a message for the user.
Ask = Callable[[Sequence[str]], str]


class InspectApp(App[None]):
    """A trace, its steps and the answers about them."""

    CSS = """
    #steps { width: 45%; border-right: solid $primary; }
    #answer { padding: 0 1; }
    #question { display: none; dock: bottom; }
    #question.asked { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "ask('')", "explanation"),
        Binding("enter", "show_step", "step", show=True),
        Binding("o", "object", "objects at the step"),
        Binding("w", "who", "who wrote it"),
        Binding("d", "ask('diff')", "diff"),
        Binding("f", "next_fault", "next step at fault"),
        Binding("slash", "question", "question"),
        Binding("escape", "leave", "back", show=False),
        Binding("q", "quit", "quit"),
    ]

    def __init__(self, document: Document, ask: Ask) -> None:
        super().__init__()
        self._document = document
        self._ask = ask
        self._begun = False
        self.title = heading(document)

    def compose(self) -> ComposeResult:
        """The widgets."""
        yield Header()
        culprits = self._document.violation.culprits
        options = [Option(_line(step, at_fault=step.number in culprits)) for step in self._document.steps]
        with Horizontal():
            yield OptionList(*options, id="steps")
            with VerticalScroll():
                yield Static(id="answer")
        yield Input(placeholder="step 5 · object ConfigMap/c at 5 · who data.next · diff 3 6 · steps", id="question")
        yield Footer()

    def on_mount(self) -> None:
        """Begin with the explanation."""
        self.action_ask("")
        self._list.highlighted = 0 if self._document.steps else None
        self._list.focus()

    @property
    def _list(self) -> OptionList:
        return self.query_one("#steps", OptionList)

    @property
    def _step(self) -> Step | None:
        at = self._list.highlighted
        return self._document.steps[at] if at is not None and self._document.steps else None

    @property
    def shown(self) -> str:
        """The answer that is on the screen."""
        return str(self.query_one("#answer", Static).content)

    def on_option_list_option_highlighted(self, _: OptionList.OptionHighlighted) -> None:
        """Show the step that was chosen; the first time it is the one that is highlighted at the start."""
        if self._begun:
            self.action_show_step()
        self._begun = True

    def on_option_list_option_selected(self, _: OptionList.OptionSelected) -> None:
        """Show the step."""
        self.action_show_step()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer a question that was typed."""
        self.action_ask(event.value)
        self.action_leave()

    def action_ask(self, question: str) -> None:
        """Show the answer to a question."""
        try:
            text = self._ask(question.split())
        except Exception as error:  # a question that cannot be answered says why
            text = str(error)
        self.query_one("#answer", Static).update(Text(text))

    def action_show_step(self) -> None:
        """Show all of the selected step."""
        if self._step is not None:
            self.action_ask(f"step {self._step.number}")

    def action_object(self) -> None:
        """Show the object that the selected step is about."""
        step = self._step
        if step is None:
            return
        names = [write.object for write in step.writes] + [read.object for read in step.reads]
        names += [event.object for event in step.delivered]
        if names:
            self.action_ask(f"object {names[0]} at {step.number}")

    def action_who(self) -> None:
        """Show the writers of the field that the selected step changes."""
        step = self._step
        written = next(((w, change) for w in step.writes for change in w.fields), None) if step else None
        if written is not None:
            self.action_ask(f"who {written[1].path} of {written[0].object}")

    def action_next_fault(self) -> None:
        """Select the next step at fault."""
        at = self._list.highlighted or 0
        numbers = [step.number for step in self._document.steps]
        places = [numbers.index(culprit) for culprit in self._document.violation.culprits]
        if places:
            self._list.highlighted = next((place for place in places if place > at), places[0])
            self.action_show_step()

    def action_question(self) -> None:
        """Take a question."""
        question = self.query_one("#question", Input)
        question.add_class("asked")
        question.value = ""
        question.focus()

    def action_leave(self) -> None:
        """Return to the steps."""
        self.query_one("#question", Input).remove_class("asked")
        self._list.focus()


def _line(step: Step, *, at_fault: bool) -> Text:
    line = f"{'►' if at_fault else ' '} {step.number:>3}  {step.actor}  {step_lines(step)[0]}"
    return Text(line, style="bold" if at_fault else "dim" if step.changes_nothing else "", no_wrap=True)


def show(document: Document, ask: Ask) -> None:
    """Run the view until the user quits."""
    InspectApp(document, ask).run()
