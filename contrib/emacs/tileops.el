;;; tileops.el --- Op manifests in Emacs, with eglot -*- lexical-binding: t -*-

;; For Emacs 28 with eglot 1.9 or later, and Emacs 29, which has eglot built in.
;;
;;   1. Copy this file to a folder of `load-path', ~/.emacs.d/lisp for example.
;;   2. In init.el:
;;
;;        (add-to-list 'load-path "~/.emacs.d/lisp")
;;        (require 'tileops)
;;        (add-hook 'yaml-mode-hook #'tileops-ensure)
;;        (add-hook 'yaml-ts-mode-hook #'tileops-ensure)   ; Emacs 29
;;
;; `tileops-ensure' starts the server in buffers of a manifest alone, and leaves every other YAML file to whatever else is
;; configured: eglot serves a buffer with one server.  M-x tileops starts it in any buffer.
;;
;; Defects are shown by flymake (M-x flymake-show-buffer-diagnostics), completion comes with C-M-i, a name is followed with
;; M-. and renamed with M-x eglot-rename.  The bytes of rows and rooflines stand in the text from Emacs 29 on
;; (M-x eglot-inlay-hints-mode).

;;; Code:

(require 'eglot)

(defgroup tileops nil "Op manifests." :group 'tools)

(defcustom tileops-command '("tileops-lsp" "--stdio")
  "The language server and its arguments."
  :type '(repeat string))

(defcustom tileops-settings '(:unreached :json-false :hints (:rooflines t :rows t))
  "What the server is told: the settings that its documentation lists."
  :type 'plist)

(defun tileops-manifest-p (file)
  "Whether FILE is part of a manifest by its place: under a `tileops.toml', or in a folder `manifest'."
  (and file
       (or (locate-dominating-file file "tileops.toml")
           (string-match-p "/manifest/" (expand-file-name file)))))

(defun tileops-root (directory)
  "The project that DIRECTORY is in, for `project.el'."
  (when-let ((root (or (locate-dominating-file directory "tileops.toml")
                       (locate-dominating-file directory "manifest"))))
    (cons 'transient root)))

(defun tileops-configure ()
  "Put `tileops-settings' among what eglot tells servers when they ask: each asks for its own section.
Where `eglot-workspace-configuration' is a function, or set by a project, that has the last word."
  (let ((all (default-value 'eglot-workspace-configuration)))
    (when (listp all)
      (setq-default eglot-workspace-configuration (plist-put (copy-sequence all) :tileops tileops-settings)))))

(defun tileops-set (settings)
  "Have the running server follow SETTINGS from now on."
  (setq tileops-settings settings)
  (tileops-configure)
  (when-let ((server (eglot-current-server)))
    (eglot-signal-didChangeConfiguration server)))

;;;###autoload
(defun tileops ()
  "Serve this buffer with tileops-lsp."
  (interactive)
  (tileops-configure)
  (setq-local eglot-server-programs (list (cons major-mode tileops-command)))
  (add-hook 'project-find-functions #'tileops-root -10 t)
  (eglot-ensure))

;;;###autoload
(defun tileops-ensure ()
  "Serve this buffer with tileops-lsp where it is part of a manifest."
  (when (tileops-manifest-p buffer-file-name)
    (tileops)))

(provide 'tileops)
;;; tileops.el ends here
