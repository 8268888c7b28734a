//! What a client said at the start: where the work is, what it can do, and what follows from that.

use std::path::PathBuf;

use tower_lsp::lsp_types::{
    ClientCapabilities, CodeLensOptions, CompletionOptions, DiagnosticOptions, DiagnosticServerCapabilities,
    DocumentLinkOptions, ExecuteCommandOptions, FoldingRangeProviderCapability, HoverProviderCapability,
    InitializeParams, MarkupKind, OneOf, RenameOptions, SaveOptions, SelectionRangeProviderCapability,
    SemanticTokensFullOptions, SemanticTokensOptions, SemanticTokensServerCapabilities, ServerCapabilities,
    SignatureHelpOptions, TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions,
    TextDocumentSyncSaveOptions, Url, WorkDoneProgressOptions, WorkspaceFoldersServerCapabilities,
    WorkspaceServerCapabilities,
};

use super::commands;
use super::positions::Encoding;
use super::requests;
use super::settings::Settings;
use super::uris;

/// What was settled with the client at the start. It does not change afterwards.
#[derive(Debug, Clone, Default)]
pub(crate) struct Session {
    /// The client's name and version.
    pub(crate) client: String,
    /// The unit of columns.
    pub(crate) encoding: Encoding,
    /// Whether the client asks for diagnostics, instead of being sent them.
    pub(crate) pull: bool,
    /// The folders that were open at the start.
    pub(crate) roots: Vec<PathBuf>,
    /// What the client can do.
    pub(crate) can: Can,
    /// The commands that the client has of its own: it says so, as two of one name are one too many for some.
    pub(crate) own_commands: Vec<String>,
}

/// What a client can do, as far as it makes a difference here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Can {
    pub(crate) progress: bool,
    pub(crate) configuration: bool,
    pub(crate) register_configuration: bool,
    pub(crate) register_watchers: bool,
    pub(crate) refresh_diagnostics: bool,
    pub(crate) refresh_hints: bool,
    pub(crate) refresh_lenses: bool,
    pub(crate) label_offsets: bool,
    pub(crate) resolve_documentation: bool,
    pub(crate) related: bool,
    pub(crate) code_links: bool,
    pub(crate) unnecessary: bool,
    pub(crate) diagnostic_data: bool,
    pub(crate) markdown: bool,
    pub(crate) snippets: bool,
    pub(crate) nested_symbols: bool,
    pub(crate) document_changes: bool,
    pub(crate) code_actions: bool,
    pub(crate) resolve_actions: bool,
}

impl Session {
    /// Settles the session. `refresh_diagnostics` is read from the raw message: the protocol's name of that capability
    /// is not the one that the types have.
    pub(crate) fn new(params: &InitializeParams, settings: &Settings, refresh_diagnostics: bool) -> Self {
        let offered = params.capabilities.general.as_ref().and_then(|general| general.position_encodings.as_deref());
        let can = Can::of(&params.capabilities, refresh_diagnostics);
        let pulls = params.capabilities.text_document.as_ref().is_some_and(|document| document.diagnostic.is_some());
        let folders = params.workspace_folders.as_deref().unwrap_or_default();
        let mut roots: Vec<PathBuf> = folders.iter().filter_map(|folder| uris::path(&folder.uri)).collect();
        if roots.is_empty() {
            #[allow(deprecated, reason = "older clients send nothing else")]
            roots.extend(params.root_uri.as_ref().and_then(uris::path));
        }
        Session {
            client: params.client_info.as_ref().map_or_else(String::new, |info| {
                format!("{} {}", info.name, info.version.as_deref().unwrap_or("")).trim_end().to_owned()
            }),
            encoding: Encoding::negotiate(offered, settings.position_encoding.as_deref()),
            // A client that asks but cannot be told to ask again would show what was true before another file changed.
            pull: pulls && can.refresh_diagnostics,
            roots,
            can,
            own_commands: own_commands(&params.capabilities),
        }
    }

    /// The commands that the client can have executed here.
    fn commands(&self) -> Vec<String> {
        let mut commands = commands::NAMES.map(str::to_owned).to_vec();
        commands.retain(|name| !self.own_commands.contains(name));
        commands
    }

    /// What the server can do for this client.
    pub(crate) fn capabilities(&self) -> ServerCapabilities {
        ServerCapabilities {
            position_encoding: Some(self.encoding.kind()),
            text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
                open_close: Some(true),
                change: Some(TextDocumentSyncKind::INCREMENTAL),
                save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
                ..TextDocumentSyncOptions::default()
            })),
            diagnostic_provider: self.pull.then(|| {
                DiagnosticServerCapabilities::Options(DiagnosticOptions {
                    identifier: Some("tileops".to_owned()),
                    inter_file_dependencies: true,
                    workspace_diagnostics: true,
                    ..DiagnosticOptions::default()
                })
            }),
            execute_command_provider: Some(ExecuteCommandOptions {
                commands: self.commands(),
                ..ExecuteCommandOptions::default()
            }),
            completion_provider: Some(CompletionOptions {
                trigger_characters: Some([".", "(", "\"", "[", "{", ",", " "].map(str::to_owned).to_vec()),
                resolve_provider: Some(self.can.resolve_documentation),
                ..CompletionOptions::default()
            }),
            signature_help_provider: Some(SignatureHelpOptions {
                trigger_characters: Some(["(", "[", ","].map(str::to_owned).to_vec()),
                // A closed bracket and the sign of a named argument change which parameter it is.
                retrigger_characters: Some([")", "]", "="].map(str::to_owned).to_vec()),
                ..SignatureHelpOptions::default()
            }),
            code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
            document_link_provider: Some(DocumentLinkOptions {
                resolve_provider: Some(false),
                work_done_progress_options: WorkDoneProgressOptions::default(),
            }),
            hover_provider: Some(HoverProviderCapability::Simple(true)),
            inlay_hint_provider: Some(OneOf::Left(true)),
            definition_provider: Some(OneOf::Left(true)),
            references_provider: Some(OneOf::Left(true)),
            document_highlight_provider: Some(OneOf::Left(true)),
            rename_provider: Some(OneOf::Right(RenameOptions {
                prepare_provider: Some(true),
                work_done_progress_options: WorkDoneProgressOptions::default(),
            })),
            code_action_provider: self
                .can
                .code_actions
                .then(|| requests::code_action::provider(self.can.resolve_actions)),
            document_symbol_provider: Some(OneOf::Left(true)),
            workspace_symbol_provider: Some(OneOf::Left(true)),
            folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
            selection_range_provider: Some(SelectionRangeProviderCapability::Simple(true)),
            semantic_tokens_provider: Some(SemanticTokensServerCapabilities::SemanticTokensOptions(
                SemanticTokensOptions {
                    legend: requests::semantic_tokens::legend(),
                    range: Some(true),
                    full: Some(SemanticTokensFullOptions::Delta { delta: Some(true) }),
                    ..SemanticTokensOptions::default()
                },
            )),
            workspace: Some(WorkspaceServerCapabilities {
                workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                    supported: Some(true),
                    change_notifications: Some(OneOf::Left(true)),
                }),
                file_operations: None,
            }),
            ..ServerCapabilities::default()
        }
    }
}

/// The commands of `experimental.commands.commands`, which is what other servers read too.
fn own_commands(client: &ClientCapabilities) -> Vec<String> {
    let experimental = client.experimental.as_ref();
    let names = experimental.and_then(|own| own.pointer("/commands/commands")).and_then(|names| names.as_array());
    names.into_iter().flatten().filter_map(|name| name.as_str()).map(str::to_owned).collect()
}

impl Can {
    fn of(client: &ClientCapabilities, refresh_diagnostics: bool) -> Self {
        let workspace = client.workspace.as_ref();
        let document = client.text_document.as_ref();
        let published = document.and_then(|document| document.publish_diagnostics.as_ref());
        let action = document.and_then(|document| document.code_action.as_ref());
        let item = document.and_then(|document| document.completion.as_ref()?.completion_item.as_ref());
        let yes = |flag: Option<bool>| flag == Some(true);
        Can {
            progress: client.window.as_ref().is_some_and(|window| yes(window.work_done_progress)),
            configuration: workspace.is_some_and(|workspace| yes(workspace.configuration)),
            register_configuration: workspace
                .and_then(|workspace| workspace.did_change_configuration.as_ref())
                .is_some_and(|capability| yes(capability.dynamic_registration)),
            register_watchers: workspace
                .and_then(|workspace| workspace.did_change_watched_files.as_ref())
                .is_some_and(|capability| yes(capability.dynamic_registration)),
            refresh_diagnostics,
            refresh_hints: workspace
                .and_then(|workspace| workspace.inlay_hint.as_ref())
                .is_some_and(|capability| yes(capability.refresh_support)),
            refresh_lenses: workspace
                .and_then(|workspace| workspace.code_lens.as_ref())
                .is_some_and(|capability| yes(capability.refresh_support)),
            label_offsets: document
                .and_then(|document| document.signature_help.as_ref()?.signature_information.as_ref())
                .and_then(|signature| signature.parameter_information.as_ref())
                .is_some_and(|parameter| yes(parameter.label_offset_support)),
            resolve_documentation: item
                .and_then(|item| item.resolve_support.as_ref())
                .is_some_and(|support| support.properties.iter().any(|property| property == "documentation")),
            related: published.is_some_and(|published| yes(published.related_information)),
            code_links: published.is_some_and(|published| yes(published.code_description_support)),
            unnecessary: published.is_some_and(|published| published.tag_support.is_some()),
            diagnostic_data: published.is_some_and(|published| yes(published.data_support)),
            markdown: document
                .and_then(|document| document.hover.as_ref()?.content_format.as_ref())
                .is_some_and(|formats| formats.contains(&MarkupKind::Markdown)),
            snippets: item.is_some_and(|item| yes(item.snippet_support)),
            nested_symbols: document
                .and_then(|document| document.document_symbol.as_ref())
                .is_some_and(|symbols| yes(symbols.hierarchical_document_symbol_support)),
            document_changes: workspace
                .and_then(|workspace| workspace.workspace_edit.as_ref())
                .is_some_and(|edit| yes(edit.document_changes)),
            code_actions: action.is_some_and(|action| action.code_action_literal_support.is_some()),
            resolve_actions: action.is_some_and(|action| {
                let resolved = action.resolve_support.as_ref().map_or(&[][..], |support| &support.properties);
                yes(action.data_support) && resolved.iter().any(|property| property == "edit")
            }),
        }
    }
}

/// The root that a file or folder lies in: the innermost.
pub(crate) fn root_of<'r>(roots: &'r [PathBuf], path: &std::path::Path) -> Option<&'r PathBuf> {
    roots.iter().filter(|root| path.starts_with(root)).max_by_key(|root| root.components().count())
}

/// The folder that a client names.
pub(crate) fn folder(uri: &Url) -> Option<PathBuf> {
    uris::path(uri)
}
